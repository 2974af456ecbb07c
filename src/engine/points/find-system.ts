import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { PointsSystem } from '../../domain/catalog.ts';
import { AppError } from '../../errors.ts';

/** The points system of a key. 404 for an unknown one. */
export function findSystem(compiled: CompiledCatalog, key: string): PointsSystem {
  const system = compiled.pointsSystems.get(key);
  if (system === undefined)
    throw new AppError('not_found', `Unknown points system: there is none with the key '${key}'.`);
  return system;
}
