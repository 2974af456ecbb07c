import { createInterface } from 'node:readline';
import { createInterface as createQuestions } from 'node:readline/promises';
import { InvalidArgumentError, Option } from 'commander';
import { createReadStream } from 'node:fs';
import { appendFile, open, rename, stat, writeFile } from 'node:fs/promises';
import { parsedJson } from '../json.ts';
import { SHARDS } from '../redis/keys.ts';

/** Exit codes of commands, as in diff(1). */
export const EXIT = {
  done: 0,
  differs: 1,
  /** The command failed or was refused; standard error says why. */
  failed: 2,
} as const;

/** Ends a command early. `message` is shown without a stack trace. */
export class CommandError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.failed) {
    super(message);
    this.name = 'CommandError';
    this.exitCode = exitCode;
  }
}

export async function agreed(question: string): Promise<boolean> {
  const terminal = createQuestions({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(question);
  terminal.close();
  return /^y(es)?$/i.test(answer.trim());
}

/** Resolves if the user agrees. Ends the command otherwise, also without a terminal to ask on: then `option` is needed. */
export async function confirmed(question: string, what: string, option = '--yes'): Promise<void> {
  if (!process.stdin.isTTY) throw new CommandError(`Nothing was changed: ${what}, which takes ${option}.`);
  if (!(await agreed(`${question} [y/N] `))) throw new CommandError('Nothing was changed.');
}

export const examples = (...lines: string[]): string =>
  `\nExamples:\n${lines.map((line) => `  laurel ${line}`).join('\n')}`;

export function wholeNumber(text: string): number {
  const number = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (number === 0) throw new InvalidArgumentError('It must be a whole number from 1 to 999999.');
  return number;
}

export function wholeNumberOrZero(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 0 to 999999.');
  return Number(text);
}

function parseShard(text: string): number {
  const shard = Number(text);
  if (!/^\d+$/.test(text) || shard >= SHARDS)
    throw new InvalidArgumentError(`It must be a whole number from 0 to ${SHARDS - 1}.`);
  return shard;
}

const parseShards = (text: string, before: readonly number[] | undefined): number[] => [
  ...new Set([...(before ?? []), parseShard(text)]),
];

/** `--shard <number>`, repeatable: limits a command to these shards; default: all. */
export const shardOption = (what: string): Option =>
  new Option('--shard <number>', `${what} this shard alone (0 to ${SHARDS - 1}); may be given several times`).argParser(
    parseShards,
  );

/** Text of an empty cell. */
const NOTHING = '-';
/** Characters that a terminal might interpret. */
const CONTROL = /\p{Cc}/gu;

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

export const print = (json: boolean | undefined, value: unknown, text: string): void =>
  void process.stdout.write(json === true ? jsonText(value) : text);

export const jsonText = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

export interface CliProgress {
  step: string;
  done: number;
  total: number | null;
}

const BAR = 24;
/** Interval between reports about the same step (ms): in a terminal, and elsewhere, where each report is a line. */
const EVERY_MS = { terminal: 100, lines: 2_000 };

/** Reports progress on standard error: a bar in a terminal, lines elsewhere. A final `null` removes the bar. */
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
    const line = progressText(progress, nowMs - startedMs);
    stderr.write(stderr.isTTY ? `\r\x1b[K${barText(progress)}${line}` : `${line}\n`);
  };
}

/** `events sent: 3,000 of 10,000 (12.0 s, 250 per second, 28 s left)`; no rate before the first, no time left without a total. */
export function progressText({ step, done, total }: CliProgress, elapsedMs: number): string {
  const shown = (count: number): string => count.toLocaleString('en');
  const perSecond = elapsedMs === 0 ? 0 : (done / elapsedMs) * 1000;
  const rate = done === 0 || perSecond === 0 ? '' : `, ${shown(Number(perSecond.toPrecision(2)))} per second`;
  const left =
    rate === '' || total === null || done >= total ? '' : `, ${shown(Math.ceil((total - done) / perSecond))} s left`;
  // An estimated total can be too small.
  const whole = total === null || total < done ? '' : ` of ${shown(total)}`;
  return `${step}: ${shown(done)}${whole} (${(elapsedMs / 1000).toFixed(1)} s${rate}${left})`;
}

function barText({ done, total }: CliProgress): string {
  if (total === null) return '';
  const share = total === 0 ? 1 : Math.min(1, done / total);
  const full = Math.floor(share * BAR);
  return `[${'#'.repeat(full)}${'-'.repeat(BAR - full)}] ${String(Math.floor(share * 100)).padStart(3)} %  `;
}

export interface Line {
  no: number;
  text: string;
  value: unknown;
}

const LINE_END = 10;

/** The non-empty lines of a file, one at a time; `-` means standard input. Ends the command if the file cannot be read. */
export async function* jsonLines(file: string): AsyncGenerator<Line> {
  if (file !== '-') await present(file);
  const input = file === '-' ? process.stdin.setEncoding('utf8') : createReadStream(file, 'utf8');
  let no = 0;
  for await (const text of createInterface({ input, crlfDelay: Infinity })) {
    no += 1;
    if (text.trim() !== '') yield { no, text, value: parsedJson(text.replace(/^\uFEFF/, '')) };
  }
}

/** How many lines `jsonLines` yields from a file; `null` for standard input and pipes, which can be read only once. */
export async function countLines(file: string): Promise<number | null> {
  if (file === '-') return null;
  await present(file);
  if (!(await stat(file)).isFile()) return null;
  let lines = 0;
  for await (const _ of textLines(file)) lines += 1;
  return lines;
}

/** The non-empty lines of a text file. Ends the command if it cannot be read. */
export async function* textLines(file: string): AsyncGenerator<string> {
  await present(file);
  for await (const text of createInterface({ input: createReadStream(file, 'utf8'), crlfDelay: Infinity }))
    if (text.trim() !== '') yield text.trim();
}

/** Describes the argument for `writeDocument`, whose default is `-`. */
export const OUTPUT_FILE = 'where to write; `-` is standard output';

/** Writes a file completely or not at all; `-` means standard output. Ends the command if it cannot be written. */
export async function writeDocument(file: string, text: string): Promise<void> {
  if (file === '-') {
    process.stdout.write(text);
    return;
  }
  const unfinished = `${file}.${process.pid}.tmp`;
  try {
    await writeFile(unfinished, text);
    await rename(unfinished, file);
  } catch (error) {
    throw new CommandError(`${file} cannot be written: ${(error as Error).message}.`);
  }
}

/** Appends lines in a single write. */
export const addLines = (file: string, values: readonly unknown[]): Promise<void> =>
  appendFile(file, values.map((value) => `${JSON.stringify(value)}\n`).join(''));

/** Removes a last line that a killed process did not finish. Creates the file if it does not exist. */
export async function cutUnfinished(file: string): Promise<void> {
  const handle = await open(file, 'a+');
  try {
    let { size } = await handle.stat();
    const byte = Buffer.alloc(1);
    for (; size > 0; size -= 1) {
      await handle.read(byte, 0, 1, size - 1);
      if (byte[0] === LINE_END) break;
    }
    await handle.truncate(size);
  } finally {
    await handle.close();
  }
}

async function present(file: string): Promise<void> {
  await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(
      `${file} cannot be read: ${error.code === 'ENOENT' ? 'there is no such file' : error.message}.`,
    );
  });
}
