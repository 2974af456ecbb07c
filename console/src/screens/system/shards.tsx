import { useQuery } from '@tanstack/react-query';
import { bytes, counted, number } from '../../ui/format.ts';
import { Panel, Tag } from '../../ui/parts.tsx';
import { systemQuery, type System } from './system-query.ts';

type Server = NonNullable<System['redisServers']>[number];

/** The masters of a cluster and their number of shards; empty with a single Redis. */
export function Shards() {
  const { redisServers } = useQuery(systemQuery).data ?? {};
  if (!redisServers || redisServers.length < 2) return null;
  return (
    <Panel title="Shards" className="lg:col-span-2">
      <ul className="flex flex-col divide-y divide-line">
        {redisServers.map((server) => (
          <li key={server.name} className="flex flex-wrap items-center gap-x-3 gap-y-0.5 py-1.5">
            <span className="min-w-0 font-medium break-all">{server.name}</span>
            <Tags of={server} />
            <span className="text-muted">{facts(server)}</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Tags({ of: { state, shutShards } }: { of: Server }) {
  return (
    <>
      {state === null && <Tag tone="bad">no response</Tag>}
      {shutShards > 0 && <Tag tone="bad">{`${number(shutShards)} closed`}</Tag>}
      {state !== null && shutShards === 0 && <Tag tone="good">all open</Tag>}
    </>
  );
}

const facts = ({ shards, tenants, state }: Server): string =>
  [
    counted(shards, 'shard'),
    counted(tenants, 'tenant'),
    ...(state === null ? [] : [`${bytes(state.memoryBytes)} memory`]),
  ].join(' · ');
