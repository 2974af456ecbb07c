import { COUNTED, SEGMENT } from '../../domain/analytics.ts';
import {
  COUNTED_KINDS,
  COUNTED_MEDIA,
  MESSAGE_COUNTS,
  PARTS_A_MEDIUM,
} from '../../domain/notifications/message-counts.ts';
import { DAY_MS } from '../../domain/periods.ts';

const list = (values: readonly string[]): string => `'{${values.join(',')}}'::text[]`;

/**
 * SQL that adds messages to the sums of their days. Part of the statement that changes them, so that a message counts exactly once.
 * `rows`: for FROM, with the columns `tenant_no`, `kind`, `medium`, `at` and `counted` (a `MessageCount`; null: not counted).
 */
export const countMessages = (rows: string): string => `
  INSERT INTO analytics_days AS known (tenant_no, kind, segment, day, subject, part, events, value)
  SELECT tenant_no, ${COUNTED.messages}, ${SEGMENT.everyone}, floor(epoch_ms(at) / ${DAY_MS}.0)::int,
         array_position(${list(COUNTED_KINDS)}, kind),
         (array_position(${list(COUNTED_MEDIA)}, medium) - 1) * ${PARTS_A_MEDIUM}
           + array_position(${list(MESSAGE_COUNTS)}, counted), count(*), 0
    FROM ${rows} AS message WHERE counted IS NOT NULL GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6
  ON CONFLICT (tenant_no, kind, segment, day, subject, part) DO UPDATE SET events = known.events + EXCLUDED.events`;
