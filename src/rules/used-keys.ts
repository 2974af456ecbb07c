import { DAY_MS, epochDay } from '../domain/periods.ts';
import { USED_KEYS } from '../packed/user-fields.ts';
import type { Refusal } from './refusal.ts';
import type { User } from './user.ts';

/** The number of a user's idempotency keys with one more. `keysPerDay`: the most on a UTC day; 0: unlimited. */
export function oneMoreKey(
  { usedKeys }: Pick<User, 'usedKeys'>,
  { nowMs, keysPerDay }: { nowMs: number; keysPerDay: number },
): NonNullable<User['usedKeys']> | Refusal {
  const day = epochDay(nowMs) % USED_KEYS.days;
  const count = usedKeys?.day === day ? usedKeys.count + 1 : 1;
  if (keysPerDay > 0 && count > keysPerDay) return { refusal: 'tooManyKeys', waitMs: DAY_MS - (nowMs % DAY_MS) };
  return { day, count };
}
