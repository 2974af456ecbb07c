import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { User } from '../../rules/user.ts';
import { changeByRequest } from '../changes/request-change.ts';
import type { Scripts } from '../scripts.ts';

/** The device tokens of a user. */
export const tokensOf = ({ deviceTokens }: User): string[] =>
  deviceTokens === null ? [] : (JSON.parse(deviceTokens) as string[]);

/**
 * Removes tokens that are gone from a user, as far as the user still has them; others stay, also those that the app adds at the same time. Writes
 * nothing if there are none of them, or the user is gone. Idempotent. Throws 503.
 */
export async function forgetTokens(
  scripts: Scripts,
  compiled: CompiledCatalog,
  { userId, isGone, nowMs }: { userId: string; isGone: (token: string) => boolean; nowMs: number },
): Promise<void> {
  const without = (user: User) => {
    const present = tokensOf(user);
    const remaining = present.filter((token) => !isGone(token));
    if (remaining.length === present.length) return null;
    return { deviceTokens: remaining.length === 0 ? null : JSON.stringify(remaining) };
  };
  await changeByRequest(scripts, compiled, { userId, sent: without, mustExist: true, nowMs });
}
