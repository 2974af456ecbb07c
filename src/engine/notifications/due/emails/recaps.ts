import { RECAP_TIMES, recapDays } from '../../../../domain/email-times.ts';
import { dateOf } from '../../../../domain/periods.ts';
import { decodeState } from '../../../../packed/state.ts';
import { activeUsers, metricNumbers } from '../../../../postgres/notifications/emails.ts';
import { recapDue } from '../../payloads/emails.ts';
import { userJson } from '../../payloads/payload.ts';
import type { EmailKind } from './email-kind.ts';
import { isReachable } from './reachable.ts';

/** Recaps of the last week or month, by the organisation's setting, for users with an event in it. */
export const RECAPS: EmailKind = {
  type: 'emails.recap_due',
  time: ({ aggregation }) => RECAP_TIMES[aggregation],
  due: async ({ pool, compiled, aggregation, controlShare, userIds, moment }) => {
    const { tenantNo } = compiled.catalog;
    const days = recapDays(aggregation, moment.day);
    const from = dateOf(days.fromDay);
    const metricNos = await metricNumbers(pool, tenantNo);
    const users = await activeUsers(pool, { tenantNo, userIds }, { metricNos, from, to: dateOf(days.toDay) });
    return users.flatMap(({ userId, state: packed }) => {
      const state = decodeState(packed);
      if (!isReachable({ userId, state }, 'recap', controlShare)) return [];
      const payload = recapDue(userJson(compiled, { userId, state, controlShare }), { dueMs: moment.atMs, ...days });
      return [{ userId, dueFor: `${aggregation} ${from}`, payload }];
    });
  },
};
