import { Type } from 'typebox';
import { MOST } from '../../../catalog/event-work.ts';
import { present } from '../../../catalog/present.ts';
import { LocalDate, Nullable, Uuid } from '../../../domain/schemas.ts';
import { Description, PARTICIPANTS, ResourceName, TIME_OF_DAY_PATTERN } from '../../../domain/catalog.ts';
import { boardStatus } from '../../../domain/runs.ts';
import { adminResource, idOf, Key } from '../../resource.ts';

const Status = Type.Enum(['inactive', 'active', 'scheduled', 'finished']);
const RankBy = Type.Enum(['metric', 'streak', 'points']);
const TimeOfDay = Type.String({ pattern: TIME_OF_DAY_PATTERN });
const RunUnit = Type.Enum(['day', 'month', 'year']);

const PERPETUAL = { runUnit: null, runInterval: null };

export const leaderboards = adminResource({
  kind: 'leaderboard',
  noun: 'leaderboard',
  limits: `At most ${MOST.leaderboard} that rank by one metric, by one points system or by the streak are active or scheduled at a time.`,
  id: 'admin_leaderboards',
  path: '/v1/leaderboards',
  shape: {
    name: ResourceName,
    key: Key,
    description: Description,
    status: Status,
    rankBy: RankBy,
    metricId: Uuid,
    pointsSystemId: Uuid,
    maxParticipants: Nullable(Type.Integer({ minimum: 1, maximum: PARTICIPANTS.most })),
    start: LocalDate,
    end: Nullable(LocalDate),
    startTime: Nullable(TimeOfDay),
    endTime: Nullable(TimeOfDay),
    breakdownAttributes: Type.Array(Uuid),
    runUnit: Nullable(RunUnit),
    runInterval: Type.Integer({ minimum: 1 }),
  },
  required: ['name', 'key', 'rankBy'],
  answer: Type.Object({
    id: Uuid,
    name: Type.String(),
    key: Type.String(),
    description: Type.Optional(Type.String()),
    status: Status,
    rankBy: RankBy,
    metricId: Type.Optional(Uuid),
    pointsSystemId: Type.Optional(Uuid),
    maxParticipants: Nullable(Type.Integer()),
    start: LocalDate,
    end: Type.Optional(LocalDate),
    startTime: Type.Optional(TimeOfDay),
    endTime: Type.Optional(TimeOfDay),
    breakdownAttributes: Type.Array(Uuid),
    runUnit: Type.Optional(RunUnit),
    runInterval: Type.Optional(Type.Integer()),
  }),
  defaults: ({ runUnit = null }, today) => ({
    description: null,
    status: 'inactive' as const,
    metricId: null,
    pointsSystemId: null,
    maxParticipants: PARTICIPANTS.byDefault,
    start: today,
    end: null,
    startTime: null,
    endTime: null,
    breakdownAttributes: [],
    runUnit: null,
    runInterval: runUnit === null ? null : 1,
  }),
  changes: ({ metricId, pointsSystemId, breakdownAttributes, ...item }) => ({
    ...item,
    ...(metricId !== undefined && { metricId: idOf(metricId) }),
    ...(pointsSystemId !== undefined && { pointsSystemId: idOf(pointsSystemId) }),
    ...(breakdownAttributes !== undefined && {
      breakdownAttributes: breakdownAttributes.map((id) => id.toLowerCase()),
    }),
  }),
  cleared: ({ rankBy, runUnit }, current) => ({
    ...(rankBy !== undefined && rankBy !== current.rankBy && { metricId: null, pointsSystemId: null }),
    // A streak's board is perpetual.
    ...(((rankBy === 'streak' && runUnit === undefined) || runUnit === null) && PERPETUAL),
    ...(runUnit !== undefined && runUnit !== null && { runInterval: current.runInterval ?? 1 }),
  }),
  // The clock moves a board from `scheduled` to `active` to `finished`, whatever was last set.
  show: ({ id, name, key, rankBy, maxParticipants, start, breakdownAttributes, ...board }, { utcDay }) => ({
    id,
    name,
    key,
    ...present<object>({ description: board.description }),
    status: boardStatus({ ...board, start }, utcDay) ?? ('inactive' as const),
    rankBy,
    ...present<object>({ metricId: board.metricId, pointsSystemId: board.pointsSystemId }),
    maxParticipants,
    start,
    ...present<object>({ end: board.end, startTime: board.startTime, endTime: board.endTime }),
    breakdownAttributes,
    ...present<object>({ runUnit: board.runUnit, runInterval: board.runInterval }),
  }),
});
