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
