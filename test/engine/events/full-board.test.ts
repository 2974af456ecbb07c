import fc from 'fast-check';
import { expect, test } from 'vitest';
import { testStack } from '../../stack/stack.ts';
import { CatalogBuilder } from '../catalog-builder.ts';
import { TestEngine } from './engine.ts';
import { emptyRedis } from '../../stack/all-servers.ts';
import { opened } from '../../stack/opened.ts';

const stack = opened(() => testStack({ database: 'none' }));

const MAX = 3;

/** Ranks by definition: 1 + the number of better scores; listed up to MAX; the threshold is the score of the last place. */
class Board {
  private readonly scores = new Map<string, number>();

  add(user: string, value: number) {
    const previousRank = this.rank(user);
    this.scores.set(user, (this.scores.get(user) ?? 0) + value);
    const places = [...this.scores.values()].filter((score) => score > 0).toSorted((a, b) => b - a);
    return { previousRank, rank: this.rank(user), threshold: places[MAX - 1] ?? 0 };
  }

  private rank(user: string): number | null {
    const own = this.scores.get(user) ?? 0;
    const rank = 1 + [...this.scores.values()].filter((score) => score > own).length;
    return own > 0 && rank <= MAX ? rank : null;
  }
}

const event = fc.record({
  user: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
  value: fc.integer({ min: -4, max: 4 }),
});

test('ranks and threshold follow their definition on a leaderboard that fills and empties, with ties', async () => {
  const builder = new CatalogBuilder();
  const metric = builder.metric('m');
  builder.leaderboard('board', 'metric', { metricId: metric.id, maxParticipants: MAX });
  const laurel = new TestEngine(stack.redisUrl, builder.catalog);
  let run = 0;
  try {
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 40 }), async (events) => {
        await emptyRedis(laurel.redis);
        run += 1;
        const board = new Board();
        for (const { user, value } of events) {
          const answer = await laurel.event('m', `${user}${run}`, value);
          const expected = board.add(user, value);
          // An event that changes no score reports no leaderboard.
          if (value !== 0) expect(answer.leaderboards['board']).toMatchObject(expected);
          else expect(answer.leaderboards).toEqual({});
        }
      }),
      { numRuns: 60, seed: Number(process.env['SEED']) },
    );
  } finally {
    await laurel.close();
  }
});
