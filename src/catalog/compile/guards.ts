import type { Metric } from '../../domain/catalog.ts';
import { toDecimal } from '../../domain/decimal.ts';
import { GUARD_NAMES } from '../../domain/guards.ts';
import { GUARD, GUARD_ACTION } from '../../packed/guard-fields.ts';
import type { PlanGuards } from '../plan.ts';

const ACTIONS = {
  refuse: GUARD_ACTION.refused,
  clamp: GUARD_ACTION.clamped,
  quarantine: GUARD_ACTION.quarantined,
} as const;

/** The guards of a metric's plan; nothing where it has none. */
export function compileGuards({ guards }: Metric): { guards?: PlanGuards } {
  if (guards === null) return {};
  const asked = GUARD_NAMES.flatMap((name) => {
    const guard = guards[name];
    return guard === undefined ? [] : [{ kind: GUARD[name], action: ACTIONS[guard.action], ...toDecimal(guard.limit) }];
  });
  return { guards: { asked } };
}
