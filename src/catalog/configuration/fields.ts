import { PARTICIPANTS, type Achievement, type Leaderboard, type StreakSettings } from '../../domain/catalog.ts';
import type {
  ConfiguredAchievement,
  ConfiguredAttribute,
  ConfiguredBoost,
  ConfiguredLeaderboard,
  ConfiguredLevel,
  ConfiguredMetric,
  ConfiguredPointsSystem,
  ConfiguredStreaks,
  ConfiguredTrigger,
} from '../../domain/configuration.ts';
import { daysOffAfter } from '../days-off.ts';
import type { Fields } from '../resource-fields.ts';
import { guardsOrNone } from '../rules/guards.ts';
import type { References } from './references.ts';

/** An item's path in the document, and the document's references. */
export interface Place {
  path: string;
  references: References;
}

const lower = (id: string): string => id.toLowerCase();

export const attributeFields = ({ key, name, type, writableBy }: ConfiguredAttribute): Fields<'attribute'> => ({
  key,
  name,
  type,
  writableBy: writableBy ?? null,
});

export const metricFields = ({ key, name, unitType, units, guards }: ConfiguredMetric): Fields<'metric'> => ({
  key,
  name,
  unitType: unitType ?? 'number',
  units: units ?? '',
  guards: guardsOrNone(guards),
});

export function achievementFields(
  item: ConfiguredAchievement,
  { path, references }: Place,
  current: Achievement | undefined,
): Fields<'achievement'> {
  const parts = [
    ...references.findAll('achievement', item.achievementKeys, `${path}.achievementKeys`),
    ...references.findAll('achievement without a key', item.achievementNames, `${path}.achievementNames`),
    ...references.findAll('achievement ID', item.achievementIds?.map(lower), `${path}.achievementIds`),
  ];
  // Their order has no meaning, so it stays if the parts are the same.
  const before = current?.achievementIds ?? [];
  const named = new Set(parts);
  const same = before.length === parts.length && before.every((id) => named.has(id));
  return {
    key: item.key ?? null,
    name: item.name,
    description: item.description ?? null,
    badgeUrl: item.badge?.url ?? null,
    status: item.status ?? 'inactive',
    trigger: item.trigger,
    metricId: references.find('metric', item.metricKey, `${path}.metricKey`),
    metricValue: item.metricValue ?? null,
    streakLength: item.streakLength ?? null,
    anniversaryYears: item.anniversaryYears ?? null,
    achievementIds: same ? before : parts,
    userAttributes: references.conditions('user', item.userAttributes, path),
    eventAttributes: references.conditions('event', item.eventAttributes, path),
  };
}

export const systemFields = (item: ConfiguredPointsSystem): Fields<'points_system'> => ({
  key: item.key,
  name: item.name,
  description: item.description ?? null,
  badgeUrl: item.badge?.url ?? null,
  maxPoints: item.maxPoints ?? null,
});

export const levelFields = (item: ConfiguredLevel, systemId: string): Fields<'points_level'> => ({
  systemId,
  key: item.key,
  name: item.name,
  description: item.description ?? '',
  badgeUrl: item.badge?.url ?? null,
  points: item.points,
});

export function triggerFields(
  item: ConfiguredTrigger,
  { path, references }: Place,
  systemId: string,
): Fields<'points_trigger'> {
  const { achievementKey, achievementName } = item;
  if (achievementKey !== undefined && achievementName !== undefined)
    references.problems.push({ path: `${path}.achievementName`, text: 'only where achievementKey is not given' });
  if (item.achievementId !== undefined && (achievementKey ?? achievementName) !== undefined) {
    const text = 'only where neither achievementKey nor achievementName is given';
    references.problems.push({ path: `${path}.achievementId`, text });
  }
  const byName = references.find('achievement without a key', achievementName, `${path}.achievementName`);
  const byId = references.find('achievement ID', item.achievementId?.toLowerCase(), `${path}.achievementId`);
  return {
    systemId,
    type: item.type,
    points: item.points,
    status: item.status ?? 'inactive',
    metricId: references.find('metric', item.metricKey, `${path}.metricKey`),
    metricThreshold: item.metricThreshold ?? null,
    achievementId: references.find('achievement', item.achievementKey, `${path}.achievementKey`) ?? byName ?? byId,
    streakLength: item.streakLength ?? null,
    timeUnit: item.timeUnit ?? null,
    timeInterval: item.timeInterval ?? null,
    blockIfOutOfPoints: item.blockIfOutOfPoints ?? false,
    userAttributes: references.conditions('user', item.userAttributes, path),
    eventAttributes: references.conditions('event', item.eventAttributes, path),
  };
}

export const boostFields = (
  item: ConfiguredBoost,
  { path, references }: Place,
  systemId: string,
): Fields<'points_boost'> => ({
  systemId,
  name: item.name,
  userId: item.userId ?? null,
  start: item.start,
  end: item.end ?? null,
  multiplier: item.multiplier,
  rounding: item.rounding ?? 'down',
  userAttributes: references.conditions('user', item.userAttributes, path),
});

/** @param today `YYYY-MM-DD`; the start if neither the document nor the existing leaderboard has one */
export function leaderboardFields(
  item: ConfiguredLeaderboard,
  { path, references }: Place,
  { current, today }: { current: Leaderboard | undefined; today: string },
): Fields<'leaderboard'> {
  const runUnit = item.runUnit ?? null;
  return {
    key: item.key,
    name: item.name,
    description: item.description ?? null,
    status: item.status ?? 'inactive',
    rankBy: item.rankBy,
    metricId: references.find('metric', item.metricKey, `${path}.metricKey`),
    pointsSystemId: references.find('points system', item.pointsSystemKey, `${path}.pointsSystemKey`),
    maxParticipants: item.maxParticipants === undefined ? PARTICIPANTS.byDefault : item.maxParticipants,
    start: item.start ?? current?.start ?? today,
    end: item.end ?? null,
    startTime: item.startTime ?? null,
    endTime: item.endTime ?? null,
    breakdownAttributes: references.findAll('user attribute', item.breakdownAttributes, `${path}.breakdownAttributes`),
    runUnit,
    runInterval: item.runInterval ?? (runUnit === null ? null : 1),
  };
}

/** The current settings, overridden by the document. */
export function streakFields(
  item: ConfiguredStreaks,
  { path, references }: Place,
  current: StreakSettings,
): StreakSettings {
  const { freezes } = current;
  const given = item.freezes ?? {};
  const frequency = item.frequency ?? current.frequency;
  return {
    enabled: item.enabled ?? current.enabled,
    frequency,
    weekStart: item.weekStart ?? current.weekStart,
    evaluationMode: item.evaluationMode ?? current.evaluationMode,
    daysOff: daysOffAfter(current, frequency, item.daysOff),
    metrics: (item.metrics ?? []).flatMap(({ metricKey, threshold }, index) => {
      const metricId = references.find('metric', metricKey, `${path}.metrics[${index}].metricKey`);
      return metricId === null ? [] : [{ metricId, threshold }];
    }),
    freezes: {
      enabled: given.enabled ?? freezes.enabled,
      initial: given.initial ?? freezes.initial,
      max: given.max ?? freezes.max,
      // `null` is a value: users earn no freezes.
      autoEarnInterval: given.autoEarnInterval === undefined ? freezes.autoEarnInterval : given.autoEarnInterval,
      autoEarnAmount: given.autoEarnAmount === undefined ? freezes.autoEarnAmount : given.autoEarnAmount,
    },
    personalization: item.personalization ?? current.personalization,
  };
}
