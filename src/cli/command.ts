/** Shared by all commands: options, output and errors. */
import { InvalidArgumentError, Option } from 'commander';
import { createInterface } from 'node:readline/promises';
import { SHARDS } from '../redis/keys.ts';

/** What a command's exit code says, as diff(1) does it. */
export const EXIT = {
  done: 0,
  /** Of a command that compares: there are differences. */
  differs: 1,
  /** It could not be done, or was refused; standard error says why. */
  failed: 2,
} as const;

/** A command ends early: `message` is shown as it is, without a stack trace. */
export class CommandError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.failed) {
    super(message);
    this.name = 'CommandError';
    this.exitCode = exitCode;
  }
}

/** Asks in the terminal; whether the answer is yes. */
export async function agreed(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(question);
  terminal.close();
  return /^y(es)?$/i.test(answer.trim());
}

/** The part of a command's help that shows how to use it; each example follows `laurel`. */
export const examples = (...lines: string[]): string =>
  `\nExamples:\n${lines.map((line) => `  laurel ${line}`).join('\n')}`;

/** An option that is a number of things, from 1 on. */
export function wholeNumber(text: string): number {
  const number = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (number === 0) throw new InvalidArgumentError('It must be a whole number from 1 to 999999.');
  return number;
}

/** The number of a shard that somebody typed. */
function parseShard(text: string): number {
  const shard = Number(text);
  if (!/^\d+$/.test(text) || shard >= SHARDS)
    throw new InvalidArgumentError(`It must be a whole number from 0 to ${SHARDS - 1}.`);
  return shard;
}

/** One more shard of those that somebody typed, each once. */
const parseShards = (text: string, before: readonly number[] | undefined): number[] => [
  ...new Set([...(before ?? []), parseShard(text)]),
];

/** `--shard <number>`, any number of times: a command is about these shards alone, without it about all. */
export const shardOption = (what: string): Option =>
  new Option('--shard <number>', `${what} this shard alone (0 to ${SHARDS - 1}); may be given several times`).argParser(
    parseShards,
  );

/** Cells that hold nothing. */
const NOTHING = '-';
/** What a terminal might act on. */
const CONTROL = /\p{Cc}/gu;

/** Rows for a terminal, below a head, in columns as wide as what they hold. */
export function tableText(head: readonly string[], rows: readonly (readonly (string | number | null)[])[]): string {
  const cells = [head, ...rows].map((row) =>
    row.map((cell) => (cell === null || cell === '' ? NOTHING : String(cell).replace(CONTROL, '\uFFFD'))),
  );
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)));
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('');
}

/** A number with its noun: `1 user`, `2 users`. */
export const counted = (n: number, one: string, many = `${one}${one === one.toUpperCase() ? 'S' : 's'}`): string =>
  `${n} ${n === 1 ? one : many}`;

/** Prints a result on standard output: as JSON if the command has `--json`, otherwise as text. */
export const print = (json: boolean | undefined, value: unknown, text: string): void =>
  void process.stdout.write(json === true ? jsonText(value) : text);

/** A value as indented JSON. */
export const jsonText = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** How far something is. `total` is null while it is not known. */
interface CliProgress {
  step: string;
  done: number;
  total: number | null;
}

const BAR = 24;
/** How often the same step is reported, ms: in a terminal, and elsewhere, where each report is a line. */
const EVERY_MS = { terminal: 100, lines: 2_000 };

/**
 * Reports progress on standard error: a bar that is overwritten in a terminal, one line a step, and every 2 s, elsewhere. Called with null
 * at the end, it removes the bar.
 */
export function progressBar(): (progress: CliProgress | null) => void {
  const startedMs = performance.now();
  const { stderr } = process;
  let last = '';
  let toldMs = -Infinity;
  return (progress) => {
    if (progress === null) {
      if (stderr.isTTY && last !== '') stderr.write('\r\x1b[K');
      return;
    }
    const nowMs = performance.now();
    if (progress.step === last && nowMs - toldMs < (stderr.isTTY ? EVERY_MS.terminal : EVERY_MS.lines)) return;
    last = progress.step;
    toldMs = nowMs;
    const seconds = ((nowMs - startedMs) / 1000).toFixed(1);
    const line = `${progressText(progress)} (${seconds} s)`;
    stderr.write(stderr.isTTY ? `\r\x1b[K${barText(progress)}${line}` : `${line}\n`);
  };
}

function progressText({ step, done, total }: CliProgress): string {
  const of = total === null ? '' : ` of ${total.toLocaleString('en')}`;
  return `${step}: ${done.toLocaleString('en')}${of}`;
}

function barText({ done, total }: CliProgress): string {
  if (total === null) return '';
  const share = total === 0 ? 1 : Math.min(1, done / total);
  const full = Math.floor(share * BAR);
  return `[${'#'.repeat(full)}${'-'.repeat(BAR - full)}] ${String(Math.floor(share * 100)).padStart(3)} %  `;
}
