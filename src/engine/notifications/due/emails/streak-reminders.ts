import { REMINDER_TIMES } from '../../../../domain/email-times.ts';
import { dateOf, periodEnd, periodOf, periodStart } from '../../../../domain/periods.ts';
import type { StreakResponse } from '../../../../domain/streak.ts';
import { dayIn, dayStartMs } from '../../../../domain/zone.ts';
import { decodeState, type UserState } from '../../../../packed/state.ts';
import { usersInDanger } from '../../../../postgres/notifications/emails.ts';
import { uuidText } from '../../../../domain/uuid.ts';
import { baseStreak, settledNow } from '../../../responses/streak-response.ts';
import { streakHistory } from '../../../streaks/streak-history.ts';
import { userJson } from '../../payloads/payload.ts';
import { streakReminderDue } from '../../payloads/streaks.ts';
import type { Asked, DueEmail, EmailKind } from './email-kind.ts';
import { isReachable } from './reachable.ts';

/**
 * Reminders of streaks that end with the period unless something is done: not those that a freeze, a pause or a day off
 * keeps, nor those of users who switched streaks off.
 */
export const STREAK_REMINDERS: EmailKind = {
  type: 'emails.streak_reminder_due',
  time: ({ compiled: { catalog } }) => (catalog.streaks.enabled ? REMINDER_TIMES[catalog.streaks.frequency] : null),
  due: async (asked) => {
    const { compiled, moment } = asked;
    const { frequency, weekStart } = compiled.catalog.streaks;
    const period = periodOf(moment.day, frequency, weekStart);
    const endDay = periodEnd(period, frequency, weekStart) + 1;
    const users = { tenantNo: compiled.catalog.tenantNo, userIds: asked.userIds };
    const due: DueEmail[] = [];
    for (const { userId, state: packed } of await usersInDanger(asked.pool, users, endDay)) {
      const state = decodeState(packed);
      if (!isReachable({ userId, state }, 'streak_reminder', asked.controlShare)) continue;
      const streak = streakInDanger(asked, state, endDay);
      if (streak === null) continue;
      const user = userJson(compiled, { userId, state, controlShare: asked.controlShare });
      const payload = streakReminderDue(user, { streak, dueMs: moment.atMs });
      due.push({ userId, dueFor: `${frequency} ${dateOf(periodStart(period, frequency, weekStart))}`, payload });
    }
    return due;
  },
};

/** A streak that is lost when a local day (epoch day) begins, unless something is done; null: there is none. */
function streakInDanger({ compiled, moment, zone }: Asked, state: UserState, endDay: number): StreakResponse | null {
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
    extended: extendedMs === null ? null : new Date(extendedMs).toISOString(),
    streakHistory: streakHistory({
      live,
      settlements: settlements.filter((settlement) => settlement.frequency === frequency),
      current: periodOf(day, frequency, weekStart),
      count: 1,
      calendar: settings,
      dayAt: (ms) => dayIn(state.tz, ms),
    }),
    pauses: state.pauses
      .filter(({ to }) => to >= day)
      .map(({ id, from, to }) => ({ id: uuidText(id), start: dateOf(from), end: dateOf(to) })),
  };
}
