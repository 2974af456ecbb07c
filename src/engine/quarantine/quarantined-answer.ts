import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { QuarantinedEvent } from '../../domain/quarantine.ts';
import { QUARANTINE_STATUS } from '../../postgres/persist/insert-quarantined.ts';
import type { QuarantineRow } from '../../postgres/quarantine/read-quarantine.ts';
import { guardName } from '../events/guarded-answer.ts';
import { uuidText } from '../ids/event-id.ts';

const STATUS = new Map(
  (['waiting', 'released', 'dropped'] as const).map((status) => [QUARANTINE_STATUS[status] as number, status]),
);

/** An event in quarantine as it is answered. */
export const quarantinedAnswer = (compiled: CompiledCatalog, row: QuarantineRow): QuarantinedEvent => ({
  id: uuidText(row.id),
  userId: row.userId,
  metricKey: compiled.metricsByNo.get(row.metricNo)?.key ?? null,
  guard: guardName(row.guard),
  value: Number(row.value),
  attributes: row.attributes,
  idempotencyKey: row.idempotencyKey,
  status: STATUS.get(row.status)!,
  at: new Date(row.atMs).toISOString(),
  settled: row.settledMs === null ? null : new Date(row.settledMs).toISOString(),
});
