import type { PlanConditions } from './plan.ts';
import type { User } from './user.ts';

/** Whether a user's attributes meet all conditions; true without conditions. */
export function holds(conditions: PlanConditions | undefined, { attributes }: Pick<User, 'attributes'>): boolean {
  if (conditions === undefined) return true;
  for (const [attribute, value] of conditions) if (attributes.get(attribute) !== value) return false;
  return true;
}

/** Whether a user has completed all of some achievements. */
export function hasAll({ completions }: Pick<User, 'completions'>, numbers: readonly number[]): boolean {
  for (const no of numbers) if (!completions.has(no)) return false;
  return true;
}
