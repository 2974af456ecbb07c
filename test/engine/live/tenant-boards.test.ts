import { expect, test } from 'vitest';
import type { BoardMove } from '../../../src/engine/live/tenant-entries.ts';
import { PendingBoards } from '../../../src/engine/live/tenant-boards.ts';

const move = (userId: string, from: number, to: number, more: Partial<BoardMove> = {}): BoardMove => ({
  boardNo: 1,
  runDay: 20_000,
  group: '',
  userId,
  from,
  to,
  previousScore: from,
  score: to,
  earned: 5n,
  atMs: 0,
  user: undefined,
  ...more,
});

test('merges several moves of a user into one, and keeps the ranks of a group that they touched', () => {
  const pending = new PendingBoards();
  expect(pending.isEmpty).toBe(true);
  for (const one of [move('ada', Infinity, 9), move('ada', 9, 4), move('bob', 3, 5)]) pending.add(one);
  const [group] = pending.groups.values();
  expect(group).toMatchObject({ boardNo: 1, best: 3, last: Infinity });
  expect(group!.moved.get('ada')).toMatchObject({
    from: Infinity,
    to: 4,
    previousScore: Infinity,
    score: 4,
    earned: 10n,
  });
});

test('groups and runs are separate, and later moves queue behind what was not reported', () => {
  const earlier = new PendingBoards();
  earlier.add(move('ada', 9, 4));
  const later = new PendingBoards();
  later.add(move('ada', 4, 2));
  later.add(move('ada', 1, 1, { group: '2:de' }));
  later.everyPlace = true;
  earlier.addAll(later);
  expect([...earlier.groups.keys()]).toEqual(['1:20000:', '1:20000:2:de']);
  expect(earlier.groups.get('1:20000:')!.moved.get('ada')).toMatchObject({ from: 9, to: 2 });
  expect(earlier.everyPlace).toBe(true);
});
