import type { CompiledCatalog } from '../catalog/compiled-catalog.ts';
import type { Metric, PointsSystem, Reward } from '../domain/catalog.ts';
import { didYouMean } from '../domain/nearest.ts';
import { boardStatus } from '../domain/runs.ts';
import { AppError } from '../errors.ts';

/** The metric with this key. Throws 404 if there is none. */
export function findMetric(compiled: CompiledCatalog, key: string): Metric {
  const metric = compiled.metrics.get(key);
  if (metric === undefined)
    throw new AppError('not_found', `Unknown metric: there is none with the key '${key}'.`, {
      hint: didYouMean(key, compiled.metrics.keys()),
    });
  return metric;
}

/** The points system with this key. Throws 404 if there is none. */
export function findSystem(compiled: CompiledCatalog, key: string): PointsSystem {
  const system = compiled.pointsSystems.get(key);
  if (system === undefined)
    throw new AppError('not_found', `Unknown points system: there is none with the key '${key}'.`, {
      hint: didYouMean(key, compiled.pointsSystems.keys()),
    });
  return system;
}

/** The reward with this key, active or not. Throws 404 if there is none. */
export function findReward(compiled: CompiledCatalog, key: string): Reward {
  const reward = compiled.rewards.get(key);
  if (reward === undefined)
    throw new AppError('not_found', `Unknown reward: there is none with the key '${key}'.`, {
      hint: didYouMean(key, compiled.rewards.keys()),
    });
  return reward;
}

/** Keys of the leaderboards that users can see on a day. An error may suggest them. */
export const visibleBoards = ({ leaderboards }: CompiledCatalog, utcDay: number): string[] =>
  [...leaderboards].flatMap(([key, board]) => (boardStatus(board, utcDay) === null ? [] : [key]));
