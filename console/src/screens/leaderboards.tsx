import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { curl, type Changed, type New } from '../api/bodies.ts';
import { admin } from '../api/client.ts';
import { attributesQuery, leaderboardsQuery, metricsQuery, pointsQuery, type Leaderboard } from '../api/queries.ts';
import { byId, named, type Field } from '../resource/field.ts';
import { ResourceList } from '../resource/resource-list.tsx';
import { today } from '../ui/format.ts';
import { Code, Empty, Screen, Status } from '../ui/parts.tsx';
import type { Column } from '../ui/table-frame.tsx';

const COLUMNS: readonly Column<Leaderboard>[] = [
  {
    id: 'name',
    header: 'Name',
    value: ({ name }) => name,
    cell: ({ key, name }) => (
      <Link to="/leaderboards/$key" params={{ key }} className="font-medium text-accent hover:underline">
        {name}
      </Link>
    ),
  },
  { id: 'key', header: 'Key', cell: ({ key }) => <Code>{key}</Code>, spare: true },
  { id: 'rankBy', header: 'Ranked by', cell: ({ rankBy }) => rankBy },
  {
    id: 'runs',
    header: 'Runs',
    spare: true,
    cell: ({ runUnit, runInterval }) => (runUnit === undefined ? 'one' : `every ${runInterval ?? 1} ${runUnit}`),
  },
  { id: 'status', header: 'Status', cell: ({ status }) => <Status of={status} /> },
];

export function Leaderboards() {
  const metrics = useQuery(metricsQuery).data;
  const systems = useQuery(pointsQuery).data;
  const attributes = useQuery(attributesQuery).data;
  const fields: Field<New<'/v1/leaderboards'>>[] = [
    { name: 'name', label: 'Name', kind: 'text', required: true },
    { name: 'key', label: 'Key', kind: 'text', required: true },
    { name: 'description', label: 'Description', kind: 'area' },
    {
      name: 'rankBy',
      label: 'Ranked by',
      kind: 'choice',
      options: named(['metric', 'points', 'streak']),
      initial: 'metric',
      required: true,
    },
    {
      name: 'metricId',
      label: 'Metric',
      kind: 'choice',
      options: byId(metrics),
      required: true,
      when: ({ rankBy }) => rankBy === 'metric',
    },
    {
      name: 'pointsSystemId',
      label: 'Points system',
      kind: 'choice',
      options: byId(systems),
      required: true,
      when: ({ rankBy }) => rankBy === 'points',
    },
    { name: 'maxParticipants', label: 'Places', kind: 'number', hint: 'Empty: everybody with a score has one' },
    { name: 'start', label: 'First day', kind: 'day', initial: today(), required: true },
    { name: 'end', label: 'Last day', kind: 'day', hint: 'Empty: without an end' },
    {
      name: 'runUnit',
      label: 'A new run every',
      kind: 'choice',
      options: named(['day', 'month', 'year']),
      hint: 'Empty: one run',
    },
    {
      name: 'runInterval',
      label: 'So many of them',
      kind: 'number',
      initial: 1,
      required: true,
      when: ({ runUnit }) => typeof runUnit === 'string' && runUnit !== '',
    },
    {
      name: 'breakdownAttributes',
      label: 'A board of its own for each',
      kind: 'many',
      options: byId(attributes?.filter(({ type }) => type === 'user')),
    },
    {
      name: 'status',
      label: 'Status',
      kind: 'choice',
      options: named(['inactive', 'active']),
      initial: 'active',
      required: true,
    },
  ];
  return (
    <Screen title="Leaderboards" about="Who has most, in runs of days, months or years, or once.">
      <ResourceList
        noun="leaderboard"
        nameOf={({ name }) => name}
        query={leaderboardsQuery}
        columns={COLUMNS}
        fields={fields}
        create={(item) => admin.POST('/v1/leaderboards', { body: [item] })}
        update={(item) => admin.PATCH('/v1/leaderboards', { body: [item as Changed<'/v1/leaderboards'>] })}
        remove={(id) => admin.DELETE('/v1/leaderboards', { params: { query: { ids: [id] } } })}
        empty={
          <Empty
            title="No leaderboard yet"
            curl={curl('POST', '/v1/leaderboards', [
              { key: 'week', name: 'This week', rankBy: 'streak', status: 'active' },
            ])}
          >
            Create the first one here, or:
          </Empty>
        }
      />
    </Screen>
  );
}
