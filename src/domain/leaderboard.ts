import { type Fold, FOLDS } from './rule-kinds.ts';
import { Type, type Static } from 'typebox';
import { KeyValue } from './achievement.ts';
import {
  INSTEAD_OF_NULL,
  LocalDate,
  Nullable,
  NullableWholeNumber,
  TimeOfDay as Time,
  WholeNumber,
} from './schemas.ts';
import { SentAttributes, UserId } from './user.ts';

/** Means "no limit" to clients that require a number. Fits into a 32-bit integer. */
const MOST_PARTICIPANTS = 2_147_483_647;

const TimeOfDay = Nullable(Time);

export interface Scoring {
  aggregate: 'sum' | Fold | null;
  order: 'descending' | 'ascending' | null;
  ties: 'shared' | 'first' | null;
}

/** In place of a score of a user who has none, on boards on which 0 is a score; below all scores, and exact. */
export const NO_SCORE = -(2 ** 53);

/**
 * Scores up to this one are not on a board. On a board of the highest sum, nobody begins with a score, so it is 0. On others,
 * every user with an event in the run has a score.
 */
export const floorOf = ({ aggregate, order, ties }: Scoring): number =>
  (aggregate ?? 'sum') === 'sum' && order !== 'ascending' && ties !== 'first' ? 0 : NO_SCORE;

/**
 * The value of a score, and the score of a value. In states, records and sorted sets the highest score is the best: on a board
 * in ascending order it is the negated value, and `max` and `min` change places.
 */
export const turned = ({ order }: Pick<Scoring, 'order'>, score: number): number =>
  order === 'ascending' ? 0 - score : score;

/** What a score is of values that are already negated in ascending order; `null`: their sum. */
export function foldOf({ aggregate, order }: Pick<Scoring, 'aggregate' | 'order'>): Fold | null {
  if (aggregate === 'last') return 'last';
  if (aggregate !== 'max' && aggregate !== 'min') return null;
  return (aggregate === 'max') === (order !== 'ascending') ? 'max' : 'min';
}

export const BoardStatus = Type.Enum(['active', 'scheduled', 'finished']);
export type BoardStatus = Static<typeof BoardStatus>;

/** What an event sends for its user's entries. */
export const EntryMetadata = Type.Record(Type.String(), Type.Unknown());
/** Largest metadata, as JSON without spaces. */
export const METADATA_BYTES = 256;

export const leaderboardFields = {
  id: Type.String(),
  name: Type.String(),
  key: Type.String(),
  rankBy: Type.Enum(['points', 'streak', 'metric']),
  aggregate: Type.Optional(Type.Enum([...FOLDS])),
  order: Type.Optional(Type.Enum(['ascending'])),
  ties: Type.Optional(Type.Enum(['first'])),
  secondaryAttributeKey: Type.Optional(Type.String()),
  secondaryOrder: Type.Optional(Type.Enum(['ascending', 'descending'])),
  breakdownAttribute: Nullable(Type.String()),
  breakdownAttributes: Type.Array(Type.String()),
  metricKey: Type.Optional(Type.String()),
  metricName: Type.Optional(Type.String()),
  pointsSystemKey: Type.Optional(Type.String()),
  pointsSystemName: Type.Optional(Type.String()),
  description: Nullable(Type.String()),
  start: LocalDate,
  end: Nullable(LocalDate),
  startTime: TimeOfDay,
  endTime: TimeOfDay,
  maxParticipants: Nullable(Type.Integer(), { [INSTEAD_OF_NULL]: MOST_PARTICIPANTS }),
  runUnit: Nullable(Type.Enum(['day', 'month', 'year'])),
  runInterval: Nullable(Type.Integer(), { [INSTEAD_OF_NULL]: 0 }),
};

export const LeaderboardResponse = Type.Object(leaderboardFields);
export type LeaderboardResponse = Static<typeof LeaderboardResponse>;

export const MetricEventLeaderboardResponse = Type.Object({
  ...leaderboardFields,
  status: BoardStatus,
  rank: Nullable(Type.Integer()),
  previousRank: Nullable(Type.Integer()),
  // Scores, and so thresholds, of a decimal metric are decimal.
  threshold: WholeNumber(),
  // Only on boards on which 0 is a score, since a threshold of 0 then does not say that there is room.
  full: Type.Optional(Type.Boolean()),
  breakdownAttributeValue: Type.Optional(Type.String()),
  breakdownAttributeValues: Type.Optional(Type.Array(KeyValue)),
});

export const LeaderboardWithStatus = Type.Object({ ...leaderboardFields, status: BoardStatus });
export type LeaderboardWithStatus = Static<typeof LeaderboardWithStatus>;

/** What a user got for a rank in a final run: points by key of the points system, and achievements by key, or ID without one. */
export const RankRewards = Type.Object({
  points: Type.Record(Type.String(), Type.Integer()),
  achievements: Type.Array(Type.String()),
});
export type RankRewards = Static<typeof RankRewards>;

export const LeaderboardRanking = Type.Object({
  userId: Type.String(),
  userName: Nullable(Type.String()),
  rank: Type.Integer(),
  // Decimal if the metric is.
  value: WholeNumber(),
  // Only on boards that have one, if the event of the score sent it.
  secondaryScore: Type.Optional(Type.Number()),
  // Only on boards that keep it, if an event sent some.
  metadata: Type.Optional(EntryMetadata),
  rewards: Type.Optional(RankRewards),
});
export type LeaderboardRanking = Static<typeof LeaderboardRanking>;

export const LeaderboardResponseWithRankings = Type.Object({
  ...leaderboardFields,
  status: BoardStatus,
  rankings: Type.Array(LeaderboardRanking),
});
export type LeaderboardResponseWithRankings = Static<typeof LeaderboardResponseWithRankings>;

export const TeamRankings = Type.Object({
  ...leaderboardFields,
  status: BoardStatus,
  teamAttribute: Type.String(),
  teamsBy: Type.Enum(['sum', 'mean']),
  teamMinMembers: Type.Integer(),
  rankings: Type.Array(
    Type.Object({ team: Type.String(), rank: Type.Integer(), value: Type.Number(), members: Type.Integer() }),
  ),
});
export type TeamRankings = Static<typeof TeamRankings>;

/** Which users to rank among themselves, and which part of the ranking to show. */
export const RankingsAmongRequest = Type.Object({
  userIds: Type.Array(UserId, { minItems: 1, maxItems: 500 }),
  around: Type.Optional(UserId),
  offset: Type.Optional(Type.Integer()),
  limit: Type.Optional(Type.Integer({ minimum: 0 })),
  run: Type.Optional(LocalDate),
  userAttributes: Type.Optional(SentAttributes),
});

/** A user's rank and score at the end of a day (for today: now), and those of the previous entry. */
export const LeaderboardEvent = Type.Object({
  date: LocalDate,
  timestamp: Type.String({ format: 'date-time' }),
  previousRank: Nullable(Type.Integer()),
  rank: Nullable(Type.Integer()),
  previousValue: NullableWholeNumber(),
  value: NullableWholeNumber(),
});
export type LeaderboardEvent = Static<typeof LeaderboardEvent>;

export const UserLeaderboardResponseWithHistory = Type.Object({
  ...leaderboardFields,
  status: BoardStatus,
  rank: Nullable(Type.Integer()),
  value: NullableWholeNumber(),
  // Only on boards that have one.
  secondaryScore: Type.Optional(Nullable(Type.Number())),
  percentile: Nullable(Type.Number()),
  participants: Nullable(Type.Integer()),
  history: Type.Array(LeaderboardEvent),
});
export type UserLeaderboardResponseWithHistory = Static<typeof UserLeaderboardResponseWithHistory>;
