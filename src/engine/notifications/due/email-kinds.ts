import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../../catalog/compiled-catalog.ts';
import {
  REACTIVATION_DAYS,
  REACTIVATION_TIME,
  RECAP_TIMES,
  recapDays,
  REMINDER_TIMES,
} from '../../../domain/notifications/email-times.ts';
import { dayIn, dayStartMs, type LocalMoment, type LocalTime } from '../../../domain/zone.ts';
import type { NotificationType } from '../../../domain/notifications/notification.ts';
import { dateOf, DAY_MS, dayOf, periodEnd, periodOf, periodStart, isoTimeOrNull } from '../../../domain/periods.ts';
import type { NotificationPreferences } from '../../../domain/notifications/preferences.ts';
import type { Settings } from '../../../domain/settings.ts';
import type { StreakResponse } from '../../../domain/streaks/streak.ts';
import { uuidText } from '../../../domain/schemas.ts';
import { decodeUser } from '../../../rules/user-codec.ts';
import type { User } from '../../../rules/user.ts';
import type { Medium } from '../../../domain/notifications/medium.ts';
import { activeUsers, metricNumbers, restingUsers, usersInDanger } from '../../../postgres/notifications/emails.ts';
import { baseStreak, settledNow } from '../../responses/streaks.ts';
import { isControl } from '../../responses/users.ts';
import { streakHistory } from '../../streaks/streak-reads.ts';
import { notificationPreferences } from '../../users/preferences.ts';
import { reactivationDue, recapDue, streakReminderDue, userJson } from '../payloads.ts';

export interface MessageSendingSettings {
  compiled: CompiledCatalog;
  aggregation: Settings['aggregationPeriod'];
  /** Share of the users, 0 to 1, who are in the control group. */
  controlShare: number;
  /** Whether Laurel sends e-mails, or push notifications, of the kind itself. */
  isEmailed: boolean;
  isPushed: boolean;
}

/** Some users of a zone in which it is time for e-mails. */
interface DueUsers extends MessageSendingSettings {
  pool: Pool;
  userIds: readonly string[];
  /** IANA name; `null` means UTC. */
  zone: string | null;
  moment: LocalMoment;
}

export interface WaitingMessage {
  userId: string;
  /** The occasion. A user gets one message of each medium for each, even after changing zones. */
  dueFor: string;
  media: readonly Medium[];
  /** Whether the user is in the control group, so that only the occasion is recorded. */
  isWithheld: boolean;
  /** Empty if withheld. */
  payload: string;
}

/** A kind of e-mail that is due at a time of day in the users' zones. */
export interface EmailKind {
  readonly type: NotificationType;
  /** The time of day; `null` if the settings switch this kind off. */
  time(settings: MessageSendingSettings): LocalTime | null;
  /** The e-mails that are due for some users. Reads Postgres, writes nothing. */
  due(asked: DueUsers): Promise<WaitingMessage[]>;
}

/** Recaps of the last week or month, by the organisation's setting, for users with an event in it. */
export const RECAPS: EmailKind = {
  type: 'emails.recap_due',
  time: ({ aggregation }) => RECAP_TIMES[aggregation],
  due: async (asked) => {
    const { pool, compiled, aggregation, controlShare, isPushed, userIds, moment } = asked;
    const { tenantNo } = compiled.catalog;
    const days = recapDays(aggregation, moment.day);
    const from = dateOf(days.fromDay);
    const metricNos = await metricNumbers(pool, tenantNo);
    const users = await activeUsers(pool, { tenantNo, userIds, isPushed }, { metricNos, from, to: dateOf(days.toDay) });
    return users.flatMap(({ userId, state: packed }) => {
      const state = decodeUser(packed);
      const reach = reachOf(userId, state, 'recap', asked);
      if (reach.media.length === 0) return [];
      const payload = (): string =>
        recapDue(userJson(compiled, { userId, state, controlShare }), { dueMs: moment.atMs, ...days });
      return [dueEmail({ userId, dueFor: `${aggregation} ${from}`, reach, payload })];
    });
  },
};

/** Reminders of streaks that end with the period, unless a freeze, pause or day off keeps them. */
export const STREAK_REMINDERS: EmailKind = {
  type: 'emails.streak_reminder_due',
  time: ({ compiled: { catalog } }) => (catalog.streaks.enabled ? REMINDER_TIMES[catalog.streaks.frequency] : null),
  due: async (asked) => {
    const { compiled, moment } = asked;
    const { frequency, weekStart } = compiled.catalog.streaks;
    const period = periodOf(moment.day, frequency, weekStart);
    const endDay = periodEnd(period, frequency, weekStart) + 1;
    const { userIds, isPushed } = asked;
    const users = { tenantNo: compiled.catalog.tenantNo, userIds, isPushed };
    const due: WaitingMessage[] = [];
    for (const { userId, state: packed } of await usersInDanger(asked.pool, users, endDay)) {
      const state = decodeUser(packed);
      const reach = reachOf(userId, state, 'streak_reminder', asked);
      if (reach.media.length === 0) continue;
      const streak = streakInDanger(asked, state, endDay);
      if (streak === null) continue;
      const payload = (): string =>
        streakReminderDue(userJson(compiled, { userId, state, controlShare: asked.controlShare }), streak, moment.atMs);
      const dueFor = `${frequency} ${dateOf(periodStart(period, frequency, weekStart))}`;
      due.push(dueEmail({ userId, dueFor, reach, payload }));
    }
    return due;
  },
};

/** The streak that is lost at the start of a local day (epoch day) unless the user acts; `null` if there is none. */
function streakInDanger({ compiled, moment, zone }: DueUsers, state: User, endDay: number): StreakResponse | null {
  const { streaks: settings } = compiled.catalog;
  const { frequency, weekStart } = settings;
  if (state.createdMs > moment.atMs || state.streakRule?.enabled === false) return null;
  const { day, streaks, freezes, settlements, offDays } = settledNow(compiled, state, moment.atMs);
  const live = streaks[frequency];
  const after = settledNow(compiled, state, dayStartMs(zone ?? 'UTC', endDay));
  if (live.length === 0 || after.streaks[frequency].length > 0) return null;
  const { extendedMs } = state.streaks[frequency];
  return {
    ...baseStreak(compiled, { streak: live, freezesLeft: freezes, day, offDays }),
    extended: isoTimeOrNull(extendedMs),
    streakHistory: streakHistory({
      live,
      settlements: settlements.filter((settlement) => settlement.frequency === frequency),
      current: periodOf(day, frequency, weekStart),
      count: 1,
      calendar: settings,
      dayAt: (ms) => dayIn(state.zone, ms),
    }),
    pauses: state.pauses
      .filter(({ to }) => to >= day)
      .map(({ id, from, to }) => ({ id: uuidText(id), start: dateOf(from), end: dateOf(to) })),
  };
}

/** Messages to users without an event for some local days, counted from the last event or the creation. */
export const REACTIVATIONS: EmailKind = {
  type: 'emails.reactivation_due',
  time: () => REACTIVATION_TIME,
  due: async (asked) => {
    const { pool, compiled, controlShare, isPushed, userIds, zone, moment } = asked;
    const { tenantNo } = compiled.catalog;
    const metricNos = await metricNumbers(pool, tenantNo);
    const days = REACTIVATION_DAYS.map((rest) => dateOf(moment.day - rest));
    // No zone differs from UTC by more than a day.
    const sinceMs = (moment.day - REACTIVATION_DAYS.at(-1)! - 1) * DAY_MS;
    const users = await restingUsers(pool, { tenantNo, userIds, isPushed }, { metricNos, days, sinceMs });
    return users.flatMap(({ userId, state: packed, lastDay }) => {
      const state = decodeUser(packed);
      const last = lastDay === null ? dayIn(zone, state.createdMs) : dayOf(lastDay);
      const daysSinceLastActive = moment.day - last;
      const messageNumber = REACTIVATION_DAYS.indexOf(daysSinceLastActive) + 1;
      if (messageNumber === 0) return [];
      const reach = reachOf(userId, state, 'reactivation', asked);
      if (reach.media.length === 0) return [];
      const payload = (): string =>
        reactivationDue(userJson(compiled, { userId, state, controlShare }), {
          dueMs: moment.atMs,
          messageNumber,
          daysSinceLastActive,
        });
      return [dueEmail({ userId, dueFor: `${dateOf(last)} ${messageNumber}`, reach, payload })];
    });
  },
};

/** The media by which a message of a kind may reach a user, and whether it is withheld to compare the user with others. */
export interface Reach {
  media: readonly Medium[];
  isWithheld: boolean;
}

/** Users of the control group count only for what Laurel sends itself: only that can be compared. */
export function reachOf(
  userId: string,
  state: User,
  kind: keyof NotificationPreferences,
  { controlShare, isEmailed, isPushed }: Pick<MessageSendingSettings, 'controlShare' | 'isEmailed' | 'isPushed'>,
): Reach {
  const isWithheld = isControl(userId, controlShare);
  const isByEmail = wantsEmails(state, kind) && (isEmailed || !isWithheld);
  const isByPush = isPushed && wantsPush(state, kind);
  return { media: [...(isByEmail ? (['email'] as const) : []), ...(isByPush ? (['push'] as const) : [])], isWithheld };
}

const dueEmail = ({
  reach,
  payload,
  ...due
}: Pick<WaitingMessage, 'userId' | 'dueFor'> & { reach: Reach; payload: () => string }): WaitingMessage => ({
  ...due,
  ...reach,
  payload: reach.isWithheld ? '' : payload(),
});

const wantsPush = (state: User, kind: keyof NotificationPreferences): boolean =>
  state.deviceTokens !== null && notificationPreferences(state)[kind].includes('push');

const wantsEmails = (state: User, kind: keyof NotificationPreferences): boolean =>
  state.email !== null && !state.unsubscribed && notificationPreferences(state)[kind].includes('email');

/** Whether a user has a device, wants push notifications of the kind, and is not in the control group. */
export const isReachableByPush = (
  userId: string,
  state: User,
  kind: keyof NotificationPreferences,
  controlShare: number,
): boolean => wantsPush(state, kind) && !isControl(userId, controlShare);

/** Whether a user has an address, subscribed to the kind of e-mail, and is not in the control group. */
export const isReachable = (
  userId: string,
  state: User,
  kind: keyof NotificationPreferences,
  controlShare: number,
): boolean => wantsEmails(state, kind) && !isControl(userId, controlShare);
