import { expect, test } from 'vitest';
import {
  epochNumberOf,
  isOfRedisProcess,
  rebuildingEpochOf,
  redisProcessIdOf,
  runIdOf,
  storageEpochOf,
} from '../../src/domain/shard-state.ts';

const PROCESS = 'aa.bb';

test.each([
  [storageEpochOf(7, PROCESS), 7, true],
  [storageEpochOf(17, PROCESS), 17, true],
  [storageEpochOf(7, 'aa.cc'), 7, false],
  [storageEpochOf(7, `a${PROCESS}`), 7, false],
  [`7${PROCESS}`, 7, false],
  [PROCESS, 0, false],
  [rebuildingEpochOf(7), 7, false],
  ['', 0, false],
])('the storage epoch "%s" has the number %i; of the process: %s', (storageEpoch, number, isOf) => {
  expect(epochNumberOf(storageEpoch)).toBe(number);
  expect(isOfRedisProcess(storageEpoch, PROCESS)).toBe(isOf);
  expect(redisProcessIdOf(storageEpoch) === PROCESS).toBe(isOf);
});

test('a function knows the first part of a process ID', () => {
  expect(runIdOf(PROCESS)).toBe('aa');
});
