import { expect, test } from 'vitest';
import { Lanes } from '../../../src/engine/webhooks/endpoint.ts';

const message = (sequence: number, lane: number) => ({
  webhookId: 'w',
  sequence,
  day: 0,
  id: String(sequence),
  lane,
  tries: 0,
  payload: '{}',
});

test('one of a lane is in flight at a time, in its order; lanes take turns', () => {
  const lanes = new Lanes();
  for (const [sequence, lane] of [
    [1, 1],
    [2, 1],
    [3, 2],
    [4, 1],
    [5, 3],
  ] as const)
    lanes.add(message(sequence, lane));
  const started = () => lanes.start()?.sequence ?? null;
  expect([started(), started(), started(), started()]).toEqual([1, 3, 5, null]);
  expect([lanes.inFlight, lanes.size, lanes.isReady]).toEqual([3, 2, false]);
  lanes.ended(1);
  expect(lanes.isReady).toBe(true);
  expect([started(), started()]).toEqual([2, null]);
  lanes.ended(1);
  expect(started()).toBe(4);
});

test('a lane counts as taken until all its tries are recorded', () => {
  const lanes = new Lanes();
  for (const sequence of [1, 2]) lanes.add(message(sequence, 7));
  lanes.start();
  lanes.ended(7);
  lanes.start();
  lanes.ended(7);
  expect([lanes.taken(), lanes.isEmpty]).toEqual([[7], false]);
  lanes.recorded(7);
  expect(lanes.taken()).toEqual([7]);
  lanes.recorded(7);
  expect([lanes.taken(), lanes.isEmpty]).toEqual([[], true]);
});

test('forgetting or cancelling leaves nothing except what is in flight', () => {
  const lanes = new Lanes();
  for (const [sequence, lane] of [
    [1, 1],
    [2, 1],
    [3, 2],
  ] as const)
    lanes.add(message(sequence, lane));
  lanes.start();
  lanes.clear();
  expect([lanes.taken(), lanes.size, lanes.start()]).toEqual([[1], 0, null]);
  lanes.calledOff(1);
  expect(lanes.isEmpty).toBe(true);
});
