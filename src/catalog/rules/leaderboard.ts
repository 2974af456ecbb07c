import type { Catalog, Leaderboard } from '../../domain/catalog.ts';
import { PARTICIPANTS } from '../../domain/schemas.ts';
import { isDate } from '../../domain/periods.ts';
import { attributesIn, keysIn } from './lookups.ts';
import { ownKey, problem, whole, type Problem } from './problem.ts';

const LONGEST_RUN = 10_000;
/** All their values are part of a group's name, and so of Redis keys. */
const MOST_BREAKDOWN = 10;

export function* leaderboardProblems(board: Leaderboard, catalog: Catalog): Generator<Problem> {
  const keys = keysIn(catalog.leaderboards);
  yield* ownKey(board, { holders: (key) => keys.get(key), noun: 'leaderboard' });
  if (board.maxParticipants !== null) {
    yield* whole('maxParticipants', board.maxParticipants, { min: 1, max: PARTICIPANTS.most });
  }
  yield* windowProblems(board);
  yield* runProblems(board);
  if (board.breakdownAttributes.length > MOST_BREAKDOWN)
    yield problem('breakdownAttributes', `must have at most ${MOST_BREAKDOWN} items`);
  const known = attributesIn(catalog.attributes);
  const earlier = new Set<string>();
  for (const [index, id] of board.breakdownAttributes.entries()) {
    const field = `breakdownAttributes[${index}]`;
    const attribute = known.get(id);
    if (attribute === undefined) yield problem(field, `unknown user attribute '${id}'`);
    else if (attribute.type !== 'user') yield problem(field, `'${attribute.key}' is an event attribute`);
    else if (earlier.has(id)) yield problem(field, `'${attribute.key}' is named twice`);
    earlier.add(id);
  }
}

function* windowProblems({ start, end, startTime, endTime }: Leaderboard): Generator<Problem> {
  if (!isDate(start)) yield problem('start', 'must be a date (YYYY-MM-DD)');
  if (end !== null && !isDate(end)) yield problem('end', 'must be a date (YYYY-MM-DD)');
  else if (end !== null && end < start) yield problem('end', 'must not be before start');
  if (startTime !== null && endTime !== null && withSeconds(startTime) === withSeconds(endTime))
    yield problem('endTime', 'must differ from startTime');
}

const withSeconds = (timeOfDay: string): string => (timeOfDay.length === 5 ? `${timeOfDay}:00` : timeOfDay);

function* runProblems({ rankBy, runUnit, runInterval }: Leaderboard): Generator<Problem> {
  if (runUnit !== null && rankBy === 'streak')
    yield problem('runUnit', `not for rankBy 'streak': such a board is perpetual`);
  if (runInterval !== null) yield* whole('runInterval', runInterval, { min: 1, max: LONGEST_RUN });
}
