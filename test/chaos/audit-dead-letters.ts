import type { EntryPosition } from './stack.ts';

/** Checks that every planted damaged entry is set aside once, and nothing else: no event of a client. */
export function auditDeadLetters(
  planted: readonly EntryPosition[],
  listed: readonly EntryPosition[],
  differences: string[],
): void {
  const waiting = new Set(planted.map(textOf));
  const seen = new Set<string>();
  for (const text of listed.map(textOf)) {
    if (seen.has(text)) differences.push(`the entry at ${text} is listed twice`);
    else if (!waiting.has(text)) differences.push(`the entry at ${text} was set aside, although nobody damaged it`);
    seen.add(text);
  }
  for (const text of waiting) if (!seen.has(text)) differences.push(`the damaged entry at ${text} is not listed`);
}

const textOf = ({ shard, position }: EntryPosition): string => `${position} of shard ${shard}`;
