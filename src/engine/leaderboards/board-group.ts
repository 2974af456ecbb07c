import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { AttributeFilter } from '../../domain/attribute-filter.ts';
import type { Leaderboard } from '../../domain/catalog.ts';
import { groupName } from '../../domain/group.ts';
import { AppError } from '../../errors.ts';
import { parseAttributeFilter } from '../attribute-filter.ts';
import { breakdownKeys } from '../responses/leaderboard-response.ts';

/**
 * The group that a `userAttributes` filter names: a value for each breakdown attribute and for no other. '' for a
 * board without a breakdown, which takes no filter. 422 otherwise.
 */
export function groupOfFilter(
  compiled: CompiledCatalog,
  board: Leaderboard,
  userAttributes: AttributeFilter | undefined,
): string {
  const keys = breakdownKeys(compiled, board);
  const filter = parseAttributeFilter(userAttributes, compiled.userAttributes);
  if (keys.length === 0) {
    if (filter.length === 0) return '';
    throw new AppError('unprocessable', `userAttributes: the leaderboard '${board.key}' has no breakdown attributes.`);
  }
  const values = keys.map((key) => filter.find(({ attribute }) => attribute.key === key)?.value);
  if (filter.length !== keys.length || values.includes(undefined)) {
    throw new AppError(
      'unprocessable',
      `userAttributes must name a value of each breakdown attribute of the leaderboard, and no other: ${keys.join(', ')}.`,
    );
  }
  return groupName(values as string[]);
}
