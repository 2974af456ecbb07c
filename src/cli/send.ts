import { createHash, randomUUID } from 'node:crypto';
import { basename } from 'node:path';
import { Option, type Command } from 'commander';
import type { BatchEventResults, BatchEventsResponse, BatchMetricEvent } from '../domain/event.ts';
import { askPatiently, withAdminOptions, type AdminOptions } from './admin-api.ts';
import {
  CommandError,
  countLines,
  examples,
  EXIT,
  jsonLines,
  type Line,
  print,
  progressBar,
  tableText,
} from './command.ts';
import { counted } from '../domain/words.ts';
import { addTo } from '../grouped.ts';

interface Options extends AdminOptions {
  metric?: string;
  user?: string;
  value?: number;
  attribute: Record<string, string>;
  at?: string;
  name?: string;
}

const BATCH = 1_000;
/** Maximum size of a request, below the default MAX_BODY_BYTES. */
const BATCH_BYTES = 900_000;
/** The server answers within 25 s, even if the batch is not processed by then. */
const TIMEOUT_MS = 60_000;
const REASONS = 20;
const LINES_NAMED = 3;

export function addSend(laurel: Command): void {
  withAdminOptions(laurel.command('send'))
    .description('send events: one, or JSON Lines from a file or standard input, in batches of 1,000')
    .argument('[file]', 'JSON Lines, one event per line; - or nothing for standard input')
    .option('--metric <key>', 'send one event of this metric, instead of a file')
    .option('--user <id>', 'its user')
    .option('--value <number>', 'its value', Number)
    .addOption(
      new Option('--attribute <key=value>', 'an event attribute; may be given several times')
        .argParser(attribute)
        .default({}, 'none'),
    )
    .option('--at <time>', 'when it happened (ISO 8601); now by default')
    .option('--name <name>', 'name of the input in the idempotency keys; by default that of the file')
    .addHelpText(
      'after',
      examples('send --metric flips --user ada --value 12', 'send events.jsonl', 'send --name nightly < events.jsonl') +
        LINE_HELP,
    )
    .action(run);
}

const LINE_HELP = `

A line is {"key":"flips","user":{"id":"ada"},"value":12}, with optional attributes, occurredAt and idempotencyKey.
Lines without idempotencyKey get one from the name, the number and the text of the line, so a repeated command counts no
event twice. Append new lines at the end: a line whose number changes is a new event. Standard input without --name gets a
random name, so only retries within one run are recognised.`;

function attribute(text: string, before: Record<string, string>): Record<string, string> {
  const equals = text.indexOf('=');
  if (equals < 1) throw new CommandError(`--attribute must be key=value; it is "${text}".`);
  return { ...before, [text.slice(0, equals)]: text.slice(equals + 1) };
}

async function run(file: string | undefined, options: Options): Promise<void> {
  const single = options.metric !== undefined;
  if (single && file !== undefined) throw new CommandError('Give a file or --metric, not both.');
  if (single && (options.user === undefined || options.value === undefined || Number.isNaN(options.value)))
    throw new CommandError('--metric needs --user and a number as --value.');
  if (!single && (options.user ?? options.value ?? options.at ?? Object.keys(options.attribute)[0]) !== undefined)
    throw new CommandError('--user, --value, --attribute and --at need --metric: events of a file have their own.');
  const source = file ?? '-';
  if (!single && source === '-' && process.stdin.isTTY)
    throw new CommandError('Nothing to send: name a file, or use --metric, --user and --value.');
  const fallback = source === '-' || single ? `run-${randomUUID()}` : basename(source);
  const lines = single ? oneEvent(options) : jsonLines(source);
  const sending = new Sending(options, options.name ?? fallback, single ? 1 : await countLines(source));
  for await (const line of lines) await sending.add(line);
  await sending.flush();
  sending.finish();
}

async function* oneEvent({ metric, user, value, attribute: attributes, at }: Options): AsyncGenerator<Line> {
  const event = { key: metric, user: { id: user }, value, attributes, ...(at !== undefined && { occurredAt: at }) };
  yield { no: 1, value: event, text: JSON.stringify(event) };
}

class Sending {
  private readonly options: Options;
  private readonly name: string;
  private readonly total: number | null;
  private readonly onProgress = progressBar();
  private readonly counts = { processed: 0, replayed: 0, conflicts: 0, quarantined: 0, queued: 0, refused: 0 };
  /** Lines by reason. */
  private readonly refusals = new Map<string, number[]>();
  private batch: { no: number; event: object }[] = [];
  private bytes = 0;
  private done = 0;

  /** `total`: number of events; `null` if unknown. */
  constructor(options: Options, name: string, total: number | null) {
    this.options = options;
    this.name = name;
    this.total = total;
  }

  async add({ no, value, text }: Line): Promise<void> {
    if (value === null || typeof value !== 'object' || Array.isArray(value)) {
      this.refuse(no, 'The line is not a JSON object');
      this.done += 1;
      return;
    }
    const { idempotencyKey = this.keyOf(no, text) } = value as { idempotencyKey?: string };
    const size = Buffer.byteLength(text) + idempotencyKey.length;
    if (this.batch.length === BATCH || this.bytes + size > BATCH_BYTES) await this.flush();
    this.batch.push({ no, event: { ...value, idempotencyKey } });
    this.bytes += size;
  }

  /** The same for the same line of the same input. */
  private keyOf(no: number, text: string): string {
    const digest = createHash('sha256').update(`${this.name}\n${no}\n${text.trim()}`).digest('base64url');
    return `send-${digest.slice(0, 24)}`;
  }

  async flush(): Promise<void> {
    const { batch } = this;
    if (batch.length === 0) return;
    const body = batch.map(({ event }) => event as BatchMetricEvent);
    const path = '/v1/metrics/events?wait=true&partial=true';
    const answer = await askPatiently(this.options, { method: 'POST', path, body, timeoutMs: TIMEOUT_MS });
    if ('results' in (answer as object)) this.note(batch, answer as BatchEventResults);
    else this.noteQueued(batch, answer as BatchEventsResponse);
    this.done += batch.length;
    [this.batch, this.bytes] = [[], 0];
    this.onProgress({ step: 'events sent', done: this.done, total: this.total });
  }

  private note(batch: readonly { no: number }[], { results }: BatchEventResults): void {
    for (const [at, { status, error, replayed, guarded, idempotencyConflict }] of results.entries()) {
      if (error !== undefined) this.refuse(batch[at]!.no, `${status}: ${error}`);
      else if (replayed === true) this.counts.replayed += 1;
      else if (status === 202 && guarded !== undefined) this.counts.quarantined += 1;
      else this.counts.processed += 1;
      if (idempotencyConflict === true) this.counts.conflicts += 1;
    }
  }

  private noteQueued(batch: readonly { no: number }[], { accepted, refused = [] }: BatchEventsResponse): void {
    this.counts.queued += accepted;
    for (const { index, error } of refused) this.refuse(batch[index]!.no, error);
  }

  private refuse(no: number, error: string): void {
    this.counts.refused += 1;
    // Without the index in the batch, so that equal errors are counted together.
    const reason = error.replace(/\[\d+\](\.|: )?/, '');
    addTo(this.refusals, reason, no);
  }

  finish(): void {
    this.onProgress(null);
    const { counts, done } = this;
    const refusals = [...this.refusals]
      .map(([reason, lines]) => ({ reason, count: lines.length, lines: lines.slice(0, LINES_NAMED) }))
      .toSorted((a, b) => b.count - a.count);
    const details = Object.entries(counts)
      .filter(([, count]) => count > 0)
      .map(([name, count]) => (name === 'conflicts' ? counted(count, 'conflict') : `${count} ${name}`))
      .join(', ');
    const rows = refusals.slice(0, REASONS).map(({ reason, count, lines }) => [reason, count, lines.join(', ')]);
    const table = rows.length === 0 ? '' : `\n${tableText(['REFUSED', 'EVENTS', 'LINES'], rows)}`;
    print(
      this.options.json,
      { events: done, ...counts, refusals },
      `${counted(done, 'event')}: ${details === '' ? 'nothing to send' : details}.\n${table}`,
    );
    if (counts.refused > 0) process.exitCode = EXIT.differs;
  }
}
