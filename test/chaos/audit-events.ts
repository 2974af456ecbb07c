import type { Ledger } from './ledger.ts';
import { microsOf } from './micros.ts';

/** A row of `events`, numbers as text. */
export interface StoredEvent {
  id: string;
  userId: string;
  metricNo: number;
  value: string;
  total: string;
  date: string;
  mark: string | null;
}

/**
 * Checks that Postgres holds every acknowledged event exactly once, other sent events at most once, and no refused or unsent
 * event.
 */
export function auditEvents(
  ledger: Ledger,
  rows: readonly StoredEvent[],
  differences: string[],
): { lost: number; duplicated: number } {
  const found = new Map<string, StoredEvent>();
  let duplicated = 0;
  for (const row of rows) {
    const sent = row.mark === null ? undefined : ledger.events.get(row.mark);
    if (sent === undefined) {
      differences.push(`event ${row.id} (${row.mark}) was never sent`);
      continue;
    }
    if (found.has(sent.mark)) {
      duplicated += 1;
      differences.push(`event ${sent.mark} is stored twice: ${found.get(sent.mark)!.id}, ${row.id}`);
    }
    found.set(sent.mark, row);
    if (sent.outcome === 'refused') differences.push(`event ${sent.mark} was refused, but is stored as ${row.id}`);
    if (sent.outcome === 'open') differences.push(`event ${sent.mark} found no end`);
    if (sent.eventId !== null && sent.eventId !== row.id)
      differences.push(`event ${sent.mark} was answered as ${sent.eventId}, but is stored as ${row.id}`);
    if (row.userId !== sent.userId || microsOf(row.value) !== sent.micros)
      differences.push(`event ${sent.mark} is stored with ${row.userId}, ${row.value}`);
  }
  let lost = 0;
  for (const { mark, outcome } of ledger.events.values()) {
    if (outcome !== 'acknowledged' || found.has(mark)) continue;
    lost += 1;
    differences.push(`event ${mark} was acknowledged, but is lost`);
  }
  return { lost, duplicated };
}
