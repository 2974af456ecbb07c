import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { answer } from '../../api/answer.ts';
import { useChange } from '../../api/change.ts';
import { admin } from '../../api/client.ts';
import { useMayChange } from '../../api/session.ts';
import { ConfirmedButton } from '../../ui/confirmed.tsx';
import { SelectInput } from '../../ui/fields.tsx';
import { counted, number } from '../../ui/format.ts';
import { bytes } from '../../ui/measures.ts';
import { Failed, Panel, Tag } from '../../ui/parts.tsx';
import { systemQuery, type System } from './system-query.ts';

type Server = NonNullable<System['redisServers']>[number];

const READ_MS = 3_000;
const SPREADS = Array.from({ length: 9 }, (_, power) => 2 ** power);

/** The masters of a cluster and their number of shards, and over how many the tenant is spread; empty with a single Redis. */
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
      <Spread />
    </Panel>
  );
}

/** Over how many shards the tenant is spread, and a control that changes it. */
function Spread() {
  const mayChange = useMayChange();
  const [chosen, setChosen] = useState<number | null>(null);
  const spread = useQuery({
    queryKey: ['spread'],
    queryFn: () => answer(admin.GET('/v1/spread')),
    refetchInterval: READ_MS,
  });
  const change = useChange({
    run: () => answer(admin.PUT('/v1/spread', { body: { shards: chosen! } })),
    done: 'The tenant is being spread. The jobs screen shows the progress.',
  });
  if (spread.isError) return <Failed error={spread.error} />;
  if (spread.data === undefined) return null;
  const { shards, converting } = spread.data;
  return (
    <div className="mt-3 flex flex-wrap items-center gap-x-3 gap-y-2">
      <span>This tenant uses {counted(shards, 'shard')}.</span>
      {converting && <Tag tone="warn">being spread</Tag>}
      {mayChange && !converting && (
        <>
          <SelectInput
            className="max-w-24"
            aria-label="Number of shards"
            value={chosen ?? shards}
            onChange={({ target }) => setChosen(Number(target.value))}
          >
            {SPREADS.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </SelectInput>
          {chosen !== null && chosen !== shards && (
            <ConfirmedButton
              change={change}
              title={`Spread the tenant over ${counted(chosen, 'shard')}?`}
              action="Spread the tenant"
              about="Its users are read from Postgres into the other shards. Until that is done, requests about this tenant get 503. Other tenants are served."
            >
              Spread
            </ConfirmedButton>
          )}
        </>
      )}
    </div>
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
