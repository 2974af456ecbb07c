import type { DeadLetter as Answer } from '../../../domain/dead-letters.ts';
import type { DeadLetter } from '../../../postgres/dead-letters/letters.ts';

/** A dead letter as it is answered. */
export const deadLetterAnswer = ({ created, updated, ...letter }: DeadLetter): Answer => ({
  id: letter.id,
  shard: letter.shard,
  position: letter.position,
  tenantNo: letter.tenantNo,
  status: letter.status,
  reason: letter.reason,
  parts: letter.parts,
  tries: letter.tries,
  created: created.toISOString(),
  updated: updated.toISOString(),
});
