import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Achievement, PointsBoost, PointsSystem, PointsTrigger } from '../../domain/catalog.ts';
import type { ImportedAward, ImportedCompletion, ImportedTrigger } from '../../domain/imported-user.ts';
import { triggerResponse } from '../responses/points-response.ts';

/** The achievement that a completion names: by ID, else by key, else by a name that only one has. */
export function namedAchievement(
  compiled: CompiledCatalog,
  { id = '', key = '', name }: ImportedCompletion,
): Achievement | undefined {
  const named = compiled.catalog.achievements.filter((achievement) => achievement.name === name);
  return (
    compiled.achievementsById.get(id) ?? compiled.achievements.get(key) ?? (named.length === 1 ? named[0] : undefined)
  );
}

/** By what triggers of a system differ where their IDs are others. */
const COMPARED = [
  'type',
  'points',
  'metricName',
  'metricThreshold',
  'streakLengthThreshold',
  'achievementName',
  'timeUnit',
  'timeInterval',
] as const;

/** The trigger that an award names: by ID, else the first of the system that says the same in all that is given. */
export function namedTrigger(
  compiled: CompiledCatalog,
  system: PointsSystem,
  asked: ImportedTrigger,
): PointsTrigger | undefined {
  const ofSystem = compiled.catalog.triggers.filter(({ systemId }) => systemId === system.id);
  const alike = (trigger: PointsTrigger): boolean => {
    const shown: Partial<Record<string, unknown>> = triggerResponse(compiled, trigger);
    return COMPARED.every((field) => asked[field] === undefined || shown[field] === asked[field]);
  };
  return ofSystem.find(({ id }) => id === asked.id) ?? ofSystem.find(alike);
}

/** The boost that an award names: by ID, else by its name in the system. */
export const namedBoost = (
  compiled: CompiledCatalog,
  system: PointsSystem,
  { id, name }: NonNullable<ImportedAward['boosts']>[number],
): PointsBoost | undefined => {
  const ofSystem = compiled.catalog.boosts.filter(({ systemId }) => systemId === system.id);
  return ofSystem.find((boost) => boost.id === id) ?? ofSystem.find((boost) => boost.name === name);
};
