import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { QuarantineEntry } from '../../domain/timeline.ts';
import type { QuarantineRow } from '../../postgres/corrections/quarantine.ts';
import { quarantinedAnswer } from '../quarantine/quarantine.ts';
import type { CatalogThen } from './catalog-then.ts';

/** An event that a guard keeps, or kept until it was dropped; its metric is loaded. */
export function quarantineEntry(compiled: CompiledCatalog, row: QuarantineRow, then: CatalogThen): QuarantineEntry {
  const { id, at, guard, value, attributes, idempotencyKey, status, settled } = quarantinedAnswer(compiled, row);
  return {
    kind: 'quarantine',
    position: id,
    at,
    id,
    metric: then.namedNo(row.metricNo),
    guard,
    value,
    attributes,
    idempotencyKey,
    status,
    settled,
  };
}
