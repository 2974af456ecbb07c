import { Type, type Static } from 'typebox';
import { KeyValue } from './achievement.ts';
import { TIME_OF_DAY_PATTERN } from './catalog.ts';

const Nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
const LocalDate = Type.String({ format: 'date' });
const TimeOfDay = Nullable(Type.String({ pattern: TIME_OF_DAY_PATTERN }));

export const leaderboardFields = {
  id: Type.String(),
  name: Type.String(),
  key: Type.String(),
  rankBy: Type.Enum(['points', 'streak', 'metric']),
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
  maxParticipants: Nullable(Type.Integer()),
  runUnit: Nullable(Type.Enum(['day', 'month', 'year'])),
  runInterval: Nullable(Type.Integer()),
};

export const LeaderboardResponse = Type.Object(leaderboardFields);
export type LeaderboardResponse = Static<typeof LeaderboardResponse>;

export const MetricEventLeaderboardResponse = Type.Object({
  ...leaderboardFields,
  rank: Nullable(Type.Integer()),
  previousRank: Nullable(Type.Integer()),
  // A decimal metric has decimal scores, and so thresholds.
  threshold: Type.Number(),
  breakdownAttributeValue: Type.Optional(Type.String()),
  breakdownAttributeValues: Type.Optional(Type.Array(KeyValue)),
});
export type MetricEventLeaderboardResponse = Static<typeof MetricEventLeaderboardResponse>;
