import type { Pool } from 'pg';
import { DEFAULT_EVENT_SETTINGS } from '../../domain/event-settings.ts';

/** The largest `lateEventDays` of any tenant. */
export async function mostLateDays(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ days: number }>(
    `SELECT max(coalesce((event_settings ->> 'lateEventDays')::int, $1)) AS days FROM tenants WHERE status = 'active'`,
    [DEFAULT_EVENT_SETTINGS.lateEventDays],
  );
  return rows[0]!.days;
}

/** Why events cannot be kept for only this many days; `null` if they can (or are kept forever). */
export async function retentionTooShort(pool: Pool, days: number | null): Promise<string | null> {
  const late = await mostLateDays(pool);
  return days === null || days > late
    ? null
    : `EVENT_RETENTION_DAYS is ${days}, and events may come up to ${late} days late (lateEventDays): keep them for ${late + 1} days at least.`;
}
