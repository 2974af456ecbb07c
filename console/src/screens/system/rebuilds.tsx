import { useQuery } from '@tanstack/react-query';
import { agoInRealTime } from '../../ui/format.ts';
import { Panel, Progress } from '../../ui/parts.tsx';
import { systemQuery, type System } from './system-query.ts';

type Rebuild = NonNullable<System['rebuilds']>[number];

const STEPS: Readonly<Record<Rebuild['step'], string>> = {
  'store outbox': 'storing waiting entries',
  'remove old keys': 'removing old keys',
  users: 'loading users',
  'idempotency keys': 'loading idempotency keys',
};
const MOST_NAMED = 8;

/** Shards that are being rebuilt, and how far that is. Nothing while there are none. */
export function Rebuilds() {
  const { rebuilds } = useQuery(systemQuery).data ?? {};
  if (!rebuilds || rebuilds.length === 0) return null;
  return (
    <Panel title="Rebuild from Postgres" className="lg:col-span-2">
      <p className="mb-2 text-muted">Tenants on these shards get 503 with Retry-After until it is done.</p>
      <ul className="flex flex-col divide-y divide-line">
        {rebuilds.map((rebuild) => (
          <li key={rebuild.shards.join()} className="flex flex-wrap items-center gap-x-3 gap-y-0.5 py-1.5">
            <span className="font-medium">{nameOf(rebuild)}</span>
            <Progress label={`Rebuild of ${nameOf(rebuild)}`} of={rebuild.progress} />
            <span className="text-muted">
              {STEPS[rebuild.step]} · began {agoInRealTime(rebuild.began)} · reported {agoInRealTime(rebuild.reported)}
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function nameOf({ shards }: Rebuild): string {
  if (shards.length > MOST_NAMED) return `${shards.length} shards`;
  return `${shards.length === 1 ? 'Shard' : 'Shards'} ${shards.join(', ')}`;
}
