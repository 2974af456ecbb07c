import { Download } from 'lucide-react';
import { Button } from '../../ui/button.tsx';

export type CsvRow = Readonly<Record<string, string | number | boolean | null>>;

/** A cell as RFC 4180 has it. Text that a spreadsheet would run as a formula begins with an apostrophe. */
function cellText(value: CsvRow[string]): string {
  if (value === null) return '';
  const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csvText(rows: readonly CsvRow[]): string {
  const columns = Object.keys(rows[0] ?? {});
  return [columns, ...rows.map((row) => columns.map((column) => row[column] ?? null))]
    .map((cells) => `${cells.map(cellText).join(',')}\r\n`)
    .join('');
}

/** Saves rows as a file. */
export function CsvButton({ name, rows }: { name: string; rows: readonly CsvRow[] }) {
  const save = (): void => {
    const url = URL.createObjectURL(new Blob([csvText(rows)], { type: 'text/csv' }));
    const link = document.createElement('a');
    link.href = url;
    link.download = `${name}.csv`;
    link.click();
    URL.revokeObjectURL(url);
  };
  return (
    <Button look="bare" onClick={save} disabled={rows.length === 0} aria-label={`Download ${name} as CSV`}>
      <Download size={14} aria-hidden /> CSV
    </Button>
  );
}
