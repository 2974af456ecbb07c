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

/** A value as indented JSON. */
export const jsonText = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;
