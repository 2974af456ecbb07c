/** A page of a list. */
export interface Page<Row> {
  rows: Row[];
  /** `null` on the last page. */
  nextCursor: string | null;
}

/** The page that some rows begin: `rows` has one more than `limit` if another page follows. */
export function pageOf<Row>(rows: readonly Row[], limit: number, cursorOf: (row: Row) => string): Page<Row> {
  const page = rows.slice(0, limit);
  return { rows: page, nextCursor: rows.length > limit ? cursorOf(page.at(-1)!) : null };
}
