import type { Pool } from 'pg';
import { countLetters } from '../postgres/dead-letters/letters.ts';

/** Says how many entries wait that could not be stored: Postgres, and what is made from it, lacks what they hold. */
export async function nameSetAside(pool: Pool): Promise<void> {
  const { waiting } = await countLetters(pool);
  if (waiting === 0) return;
  process.stdout.write(
    `${waiting === 1 ? 'One entry that could not be stored waits' : `${waiting} entries that could not be stored wait`}; ` +
      'Postgres lacks what they hold: `laurel dead-letters list`.\n',
  );
}

/** Names a user whose state cannot be read. */
export const nameUnreadable = ({ tenantNo, id }: { tenantNo: number; id: string }): void =>
  void process.stdout.write(`\nThe state of the user ${id} of tenant ${tenantNo} cannot be read.\n`);
