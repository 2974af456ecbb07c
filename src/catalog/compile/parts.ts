import type { Metric } from '../../domain/catalog.ts';
import { toDecimal } from '../../domain/decimal.ts';
import { GUARD_NAMES } from '../../domain/administration/guards.ts';
import type { AttributeCondition } from '../../domain/schemas.ts';
import { GUARD, GUARD_ACTION } from '../../packed/guard-fields.ts';
import type { CatalogIndex } from '../catalog-index.ts';
import type { Counter, PlanConditions, PlanGuards } from '../../rules/plan.ts';

/** Drops undefined fields. */
export const present = <T extends object>(fields: { [K in keyof T]: T[K] | undefined }): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;

export function userConditions(
  catalogIndex: CatalogIndex,
  conditions: AttributeCondition[],
): PlanConditions | undefined {
  if (conditions.length === 0) return undefined;
  return conditions.map(({ attributeId, attributeValue }) => [
    catalogIndex.attributesById.get(attributeId)?.no ?? 0,
    attributeValue,
  ]);
}

/** The achievements and triggers that count matching events of a metric themselves. */
export function countersFor(catalogIndex: CatalogIndex, metric: Metric): Counter[] {
  const achievements = catalogIndex.catalog.achievements.filter((a) => a.status === 'active' && a.trigger === 'metric');
  const triggers = catalogIndex.catalog.triggers.filter((t) => t.status === 'active' && t.type === 'metric');
  return [...achievements, ...triggers]
    .filter((counting) => counting.metricId === metric.id && counting.eventAttributes.length > 0)
    .map(({ no, eventAttributes }) => ({
      no,
      conditions: eventAttributes.map(({ attributeId, attributeValue }): [string, string] => [
        catalogIndex.attributesById.get(attributeId)?.key ?? '',
        attributeValue,
      ]),
    }));
}

const ACTIONS = {
  refuse: GUARD_ACTION.refused,
  clamp: GUARD_ACTION.clamped,
  quarantine: GUARD_ACTION.quarantined,
} as const;

export function compileGuards({ guards }: Metric): { guards?: PlanGuards } {
  if (guards === null) return {};
  const compiled = GUARD_NAMES.flatMap((name) => {
    const guard = guards[name];
    return guard === undefined ? [] : [{ kind: GUARD[name], action: ACTIONS[guard.action], ...toDecimal(guard.limit) }];
  });
  return { guards: { asked: compiled } };
}
