import type { Catalog } from '../../domain/catalog.ts';
import type { WebhookFilter } from '../../domain/schemas.ts';
import { webhooksFor } from '../rules/referrers.ts';
import type { DocumentProblem } from './references.ts';

const LISTS = [
  ['metrics', 'metricIds'],
  ['leaderboards', 'leaderboardIds'],
  ['pointsSystems', 'pointsSystemIds'],
] as const satisfies [keyof Catalog, keyof WebhookFilter][];

/**
 * Resources that a document would delete although a webhook's filter names them. Documents do not contain webhooks, so they cannot change the
 * filter.
 */
export const wantedByWebhooks = (before: Catalog, after: Catalog): DocumentProblem[] =>
  LISTS.flatMap(([path, list]) => {
    const left = new Set(after[path].map(({ id }) => id));
    return before[path].flatMap(({ id, key }) => {
      const wanting = left.has(id) ? [] : webhooksFor(list, id, after);
      return wanting.length === 0
        ? []
        : [
            {
              path,
              text: `must keep '${key}', which the filter of ${wanting.join(', ')} names: change the filter first`,
            },
          ];
    });
  });
