import { Packr } from 'msgpackr';
import type { PackedState } from '../../../src/packed/state.ts';
import { USER } from '../../../src/packed/user-fields.ts';

const packr = new Packr({ useRecords: false });

/** The packed state of a user who has done nothing yet, but for what is given. */
export function packedState(fields: Partial<PackedState> = {}): Buffer {
  const seen = Date.UTC(2026, 0, 1);
  return packr.pack({ [USER.createdMs]: seen, [USER.updatedMs]: seen, ...fields });
}
