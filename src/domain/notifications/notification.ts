/** Notifications: types, subjects, windows and announcements. */
import { DAY_MS, dayOf, epochDay } from '../periods.ts';
import { type Run, runOf, type RunRule } from '../runs.ts';
import type { Medium } from './medium.ts';
import type { WEBHOOK_EVENTS } from './webhook.ts';

export type NotificationType = (typeof WEBHOOK_EVENTS)[number];

/** IDs of the resources that a notification is about. Webhook filters compare them. */
export interface NotificationSubject {
  metricId?: string;
  leaderboardId?: string;
  pointsSystemId?: string;
}

export interface BoardPlace {
  boardNo: number;
  runDay: number;
  group: string;
}

/** Something that happened or fell due in a tenant. Webhooks and live streams report it. */
export interface Notification {
  type: NotificationType;
  tenantNo: number;
  /** The user concerned; `null` if it is not about a single user. */
  userId: string | null;
  /** When it happened or fell due, epoch ms. */
  atMs: number;
  /** Unique within tenant and type. Creating the notification again produces the same value. */
  source: string;
  about: NotificationSubject;
  /** For rankings and ranks: where they changed or ended. */
  place?: BoardPlace;
  /**
   * For those about which Laurel may write to the user: how it may. Without `email`, webhooks and live streams do not report them,
   * because they are about e-mails.
   */
  media?: readonly Medium[];
  /** Whether the user is in the control group: nothing is reported or sent, and only the log has the messages. Default: false. */
  isWithheld?: boolean;
  /** The contract's payload as JSON text, including `type`. */
  payload: string;
}

export interface NewMessage extends Pick<Notification, 'tenantNo' | 'type' | 'userId' | 'atMs' | 'payload'> {
  /** The `webhook-id` of every try (UUID). Creating the message again produces the same ID. */
  id: string;
  webhookId: string;
}

/** Shortest time between two notifications that are otherwise sent at once; ms. */
const WINDOW_MS = 15 * 60_000;

/** Windows end at multiples of this (ms), so that a few statements flush many of them. */
const STEP_MS = 5_000;

/** When a window that begins at `beginMs` ends (epoch ms). */
export const windowEndMs = (beginMs: number): number => Math.ceil((beginMs + WINDOW_MS) / STEP_MS) * STEP_MS;

/**
 * A window that ends later than this was opened before the clock was set back, and is over. The limit far exceeds a
 * window's length because other processes' clocks may be ahead, and a test's clock by days.
 */
export const FURTHEST_END_MS = 30 * DAY_MS;

/** Starts are announced at 10:00 UTC on the day before, ends at 13:00 UTC on the day after. */

const HOUR_MS = 3_600_000;
const STARTS_AT_MS = 10 * HOUR_MS;
const ENDED_AT_MS = 13 * HOUR_MS;

/** When the start of a run is announced (epoch ms). `firstDay`: epoch day. */
export const startAnnouncedMs = (firstDay: number): number => (firstDay - 1) * DAY_MS + STARTS_AT_MS;

/** When the end of a run is announced (epoch ms). `lastDay`: epoch day. */
export const endAnnouncedMs = (lastDay: number): number => (lastDay + 1) * DAY_MS + ENDED_AT_MS;

/** The first run whose start is announced after a time (epoch ms), or `null`. */
export function startAnnouncedAfter(rule: RunRule, afterMs: number): Run | null {
  const day = epochDay(afterMs - STARTS_AT_MS) + 2;
  const first = firstRun(rule);
  if (first === null || first.startDay >= day) return first;
  const run = runOf(rule, day);
  if (run === null || run.startDay === day) return run;
  return run.endDay === null ? null : runOf(rule, run.endDay + 1);
}

/** The first run whose end is announced after a time (epoch ms); `null` if there is none or it has no end. */
export function endAnnouncedAfter(rule: RunRule, afterMs: number): (Run & { endDay: number }) | null {
  const day = epochDay(afterMs - ENDED_AT_MS);
  const first = firstRun(rule);
  const run = first !== null && first.startDay >= day ? first : runOf(rule, day);
  return run === null || run.endDay === null ? null : { ...run, endDay: run.endDay };
}

const firstRun = (rule: RunRule): Run | null => runOf(rule, dayOf(rule.start));
