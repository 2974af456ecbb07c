import { REACTIVATION_DAYS, REACTIVATION_TIME } from '../../../../domain/email-times.ts';
import { DAY_MS, dateOf, dayOf } from '../../../../domain/periods.ts';
import { dayIn } from '../../../../domain/zone.ts';
import { decodeState } from '../../../../packed/state.ts';
import { metricNumbers, restingUsers } from '../../../../postgres/notifications/emails.ts';
import { reactivationDue } from '../../payloads/emails.ts';
import { userJson } from '../../payloads/payload.ts';
import type { EmailKind } from './email-kind.ts';
import { isReachable } from './reachable.ts';

/**
 * Messages to users without an event for some days: local days since that of the last event, or since the user was first
 * seen where there never was one.
 */
export const REACTIVATIONS: EmailKind = {
  type: 'emails.reactivation_due',
  time: () => REACTIVATION_TIME,
  due: async ({ pool, compiled, controlShare, userIds, zone, moment }) => {
    const { tenantNo } = compiled.catalog;
    const metricNos = await metricNumbers(pool, tenantNo);
    const days = REACTIVATION_DAYS.map((rest) => dateOf(moment.day - rest));
    // No zone is further from UTC than a day.
    const sinceMs = (moment.day - REACTIVATION_DAYS.at(-1)! - 1) * DAY_MS;
    const users = await restingUsers(pool, { tenantNo, userIds }, { metricNos, days, sinceMs });
    return users.flatMap(({ userId, state: packed, lastDay }) => {
      const state = decodeState(packed);
      const last = lastDay === null ? dayIn(zone, state.createdMs) : dayOf(lastDay);
      const daysSinceLastActive = moment.day - last;
      const messageNumber = REACTIVATION_DAYS.indexOf(daysSinceLastActive) + 1;
      if (messageNumber === 0 || !isReachable({ userId, state }, 'reactivation', controlShare)) return [];
      const user = userJson(compiled, { userId, state, controlShare });
      const payload = reactivationDue(user, { dueMs: moment.atMs, messageNumber, daysSinceLastActive });
      return [{ userId, dueFor: `${dateOf(last)} ${messageNumber}`, payload }];
    });
  },
};
