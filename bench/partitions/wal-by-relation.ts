import type { Pool } from 'pg';

/** A table or an index, by the name of what its partitions are of. */
export interface WrittenWal {
  name: string;
  /** Bytes of records, without images. */
  records: number;
  /** Bytes of images of whole pages, and how many there are. */
  images: number;
  pages: number;
}

/** A record is counted with the page that it names first; its images with the pages that they are of. */
const BY_RELATION = `
  SELECT coalesce(whole.relname, part.relname, 'catalogs and others') AS name,
         sum(CASE WHEN block_id = first_block THEN record_length - record_images ELSE 0 END)::float8 AS records,
         sum(block_fpi_length)::float8 AS images, count(*) FILTER (WHERE block_fpi_length > 0)::float8 AS pages
    FROM (SELECT *, min(block_id) OVER record AS first_block, sum(block_fpi_length) OVER record AS record_images
            FROM pg_get_wal_block_info($1, $2) WINDOW record AS (PARTITION BY start_lsn)) AS blocks
    LEFT JOIN pg_class AS part ON pg_relation_filenode(part.oid) = blocks.relfilenode
    LEFT JOIN pg_inherits ON inhrelid = part.oid
    LEFT JOIN pg_class AS whole ON whole.oid = inhparent
   GROUP BY 1 ORDER BY images DESC, records DESC`;

/** What the WAL between two positions holds of each, the most images first. Needs `pg_walinspect`; reads all of that WAL. */
export async function walByRelation(pool: Pool, fromLsn: string, toLsn: string): Promise<WrittenWal[]> {
  await pool.query('CREATE EXTENSION IF NOT EXISTS pg_walinspect');
  return (await pool.query<WrittenWal>(BY_RELATION, [fromLsn, toLsn])).rows;
}
