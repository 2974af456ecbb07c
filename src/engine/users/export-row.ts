import { dateOf } from '../../domain/periods.ts';
import type { UserTable } from '../../postgres/users/user-tables.ts';

const camel = (column: string): string => column.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** Columns in which Postgres keeps decimals, which come as texts. */
const DECIMALS = new Set(['value', 'total']);

/** A row as an export shows it: without what is the same in all, numbers of resources as their names, days as dates. */
export function exportRow(
  row: Record<string, unknown>,
  { user, hidden = [], words = {} }: UserTable,
  names: ReadonlyMap<number, string>,
): Record<string, unknown> {
  const left = new Set(['tenant_no', user, ...hidden]);
  const nameOf = (no: unknown): string | null => (typeof no === 'number' ? (names.get(no) ?? String(no)) : null);
  const exported: Record<string, unknown> = {};
  for (const [column, value] of Object.entries(row)) {
    if (left.has(column)) continue;
    if (column.endsWith('_nos')) exported[`${camel(column.slice(0, -4))}s`] = ((value ?? []) as unknown[]).map(nameOf);
    else if (column.endsWith('_no')) exported[camel(column.slice(0, -3))] = nameOf(value);
    else if (column.endsWith('_day') && typeof value === 'number') exported[camel(column)] = dateOf(value);
    else if (words[column] !== undefined) exported[camel(column)] = words[column][value as number] ?? value;
    else exported[camel(column)] = DECIMALS.has(column) ? Number(value) : value;
  }
  return exported;
}
