import { FREQUENCIES } from '../../../domain/settle-streaks.ts';
import { periodOf } from '../../../domain/periods.ts';
import type { CompiledCatalog } from '../../../catalog/compiled-catalog.ts';
import type { NotificationType } from '../../../domain/notification.ts';
import type { RecordedSettlement } from '../../../packed/record.ts';
import { RECORD, RECORDED_STREAK, REVERSAL, SETTLED, SETTLEMENT } from '../../../packed/record-fields.ts';
import { FREQUENCY } from '../../../packed/user-fields.ts';
import { recordedStreak } from '../../responses/streak-response.ts';
import type { UserJson } from '../payloads/payload.ts';
import { freezeConsumed, freezeEarned, streakExtended, streakLost } from '../payloads/streaks.ts';
import type { Change, Reported } from './change.ts';

interface Candidate {
  type: NotificationType;
  payload: (user: UserJson) => string;
}

/**
 * What became of the user's streak: first by the clock (freezes earned and consumed, the streak lost), then by the event
 * (started, extended). An administrator's reset loses it too, and a reversal that leaves nothing of it; a restored streak is
 * not reported, nor the one that gave way to it.
 * Nothing where streaks are switched off, for all or by the user.
 */
export function* streakNotifications(change: Change): Generator<Reported> {
  const { compiled, wants, user } = change;
  if (!compiled.catalog.streaks.enabled) return;
  const wanted = [...settled(change), ...extended(change)].filter(({ type }) => wants(type, {}));
  if (wanted.length === 0) return;
  if (user.state().streakRule?.enabled === false) return;
  for (const { type, payload } of wanted) yield { type, no: 0, about: {}, payload: payload(user.json()) };
}

function* settled({ compiled, record }: Change): Generator<Candidate> {
  const settlements = record[RECORD.settlements] ?? [];
  const freezes = record[RECORD.freezes] ?? 0;
  const earned = record[RECORD.freezesEarned] ?? 0;
  if (earned > 0) yield { type: 'streak.freeze_earned', payload: (user) => freezeEarned(user, { earned, freezes }) };
  const consumed = settlements.reduce((sum, settlement) => sum + freezesIn(compiled, settlement), 0);
  if (consumed > 0)
    yield { type: 'streak.freeze_consumed', payload: (user) => freezeConsumed(user, { consumed, freezes }) };
  const counted = FREQUENCY[compiled.catalog.streaks.frequency];
  const lost = settlements.findLast(
    (settlement) =>
      settlement[SETTLEMENT.frequency] === counted &&
      (settlement[SETTLEMENT.kind] === SETTLED.lost || settlement[SETTLEMENT.kind] === SETTLED.reset),
  );
  const length = lost?.[SETTLEMENT.length] ?? record[RECORD.reversal]?.[REVERSAL.endedStreak] ?? 0;
  if (length > 0) yield { type: 'streak.lost', payload: (user) => streakLost(user, { length }) };
}

/** How many freezes were used for the days of a settlement: one a period. */
function freezesIn({ catalog: { streaks } }: CompiledCatalog, settlement: RecordedSettlement): number {
  const frequency = FREQUENCIES[settlement[SETTLEMENT.frequency] - 1];
  if (settlement[SETTLEMENT.kind] !== SETTLED.freeze || frequency === undefined) return 0;
  const period = (day: number): number => periodOf(day, frequency, streaks.weekStart);
  return period(settlement[SETTLEMENT.lastDay]) - period(settlement[SETTLEMENT.firstDay]) + 1;
}

function* extended({ compiled, record }: Change): Generator<Candidate> {
  const streak = record[RECORD.streak];
  if (streak?.[RECORDED_STREAK.extended] !== 1) return;
  const type = streak[RECORDED_STREAK.length] === 1 ? 'streak.started' : 'streak.extended';
  const shown = recordedStreak(compiled, streak, record[RECORD.day]);
  yield { type, payload: (user) => streakExtended(type, user, { streak: shown }) };
}
