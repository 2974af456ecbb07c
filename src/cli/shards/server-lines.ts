import type { PlacedShard } from '../../postgres/shards/placement.ts';
import { numberRanges } from '../../number-ranges.ts';

const COLUMNS = 80;

export interface ListedServer {
  name: string;
  shards: readonly number[];
  /** Those of them that are open; null: the server does not answer. */
  whole: { has(shard: number): boolean } | null;
}

/**
 * A Redis, how many shards it holds and which, which of them hold tenants, and which are shut, are being moved or have left keys
 * elsewhere: lines of at most 80 columns, unless a name is too long for that.
 */
export function serverLines(
  { name, shards, whole }: ListedServer,
  { placed, used }: { placed: ReadonlyMap<number, PlacedShard>; used: ReadonlySet<number> },
): string {
  const away = whole === null ? ' (does not answer)' : '';
  const remarks = new Map<string, number[]>();
  for (const shard of shards)
    for (const remark of remarksOn(placed.get(shard), whole?.has(shard)))
      remarks.set(remark, [...(remarks.get(remark) ?? []), shard]);
  const listed: [label: string, shards: readonly number[]][] = [
    ['numbers', shards],
    ['with tenants', shards.filter((shard) => used.has(shard))],
    ...[...remarks].toSorted(([a], [b]) => a.localeCompare(b)),
  ];
  return [
    `${name}: ${shards.length === 1 ? '1 shard' : `${shards.length} shards`}${away}`,
    ...listed.flatMap(([label, numbers]) => wrapped(`  ${label}: ${numberRanges(numbers) || 'none'}`)),
  ]
    .map((line) => `${line}\n`)
    .join('');
}

function remarksOn(placed: PlacedShard | undefined, isWhole: boolean | undefined): string[] {
  const { movingTo = null, leftOn = null } = placed ?? {};
  return [
    ...(isWhole === false ? ['shut'] : []),
    ...(movingTo === null ? [] : [`being moved to ${movingTo}`]),
    ...(leftOn === null ? [] : [`keys are left on ${leftOn}`]),
  ];
}

/** A line, broken after commas where it is longer than the terminal is wide. */
function wrapped(line: string): string[] {
  const lines: string[] = [];
  for (const part of line.split(/(?<=,) /)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + part.length <= COLUMNS) lines[lines.length - 1] = `${last} ${part}`;
    else lines.push(last === undefined ? part : `    ${part}`);
  }
  return lines;
}
