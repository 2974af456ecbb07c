import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { decimalText } from '../../domain/decimal.ts';
import type { HappenedRecord } from '../../packed/record.ts';
import { RECORD } from '../../packed/record-fields.ts';
import { TOTAL } from '../../packed/user-fields.ts';
import { uuidText } from '../../domain/uuid.ts';
import type { LiveGrant } from './grants.ts';
import type { Unsent } from './live-listener.ts';

/** Events a second that a stream shows: enough to see what goes on, and no copy of the history. */
export const SAMPLED_A_SECOND = 20;

/** Picks events for one stream: as many a second as may be, the first of each moment; the others are counted. */
export class EventSample {
  private readonly grant: LiveGrant;
  private readonly nowMs: () => number;
  private allowed = SAMPLED_A_SECOND;
  private countedMs: number;
  private skipped = 0;

  /** @param nowMs the machine's time, from whenever */
  constructor(grant: LiveGrant, nowMs: () => number = () => performance.now()) {
    this.grant = grant;
    this.nowMs = nowMs;
    this.countedMs = nowMs();
  }

  /** The message about an event; null: it is of another user or metric, or only counted. */
  take(compiled: CompiledCatalog, record: HappenedRecord): Unsent | null {
    const { userId, metricIds } = this.grant;
    if (userId !== null && userId !== record[RECORD.userId]) return null;
    const metric = compiled.metricsByNo.get(record[RECORD.metric] ?? -1);
    if (metric === undefined || (metricIds !== null && !metricIds.includes(metric.id))) return null;
    const nowMs = this.nowMs();
    this.allowed = Math.min(SAMPLED_A_SECOND, this.allowed + ((nowMs - this.countedMs) / 1000) * SAMPLED_A_SECOND);
    this.countedMs = nowMs;
    if (this.allowed < 1) {
      this.skipped += 1;
      return null;
    }
    this.allowed -= 1;
    const { skipped } = this;
    this.skipped = 0;
    return { type: 'event', payload: JSON.stringify({ type: 'event', event: eventOf(metric.key, record), skipped }) };
  }
}

const eventOf = (metricKey: string, record: HappenedRecord) => ({
  id: uuidText(record[RECORD.id]),
  userId: record[RECORD.userId],
  metricKey,
  value: numberOf(record[RECORD.value]),
  total: numberOf(record[RECORD.total]),
  at: new Date(record[RECORD.atMs]).toISOString(),
});

function numberOf(recorded: HappenedRecord[typeof RECORD.value]): number {
  return recorded === undefined
    ? 0
    : Number(decimalText({ whole: recorded[TOTAL.whole], micros: recorded[TOTAL.micros] }));
}
