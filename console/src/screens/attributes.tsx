import { curl, type Changed, type New } from '../api/bodies.ts';
import { admin } from '../api/client.ts';
import { attributesQuery, type Attribute } from '../api/queries.ts';
import { named, type Field } from '../resource/field.ts';
import { ResourceList } from '../resource/resource-list.tsx';
import { Code, Empty, Screen } from '../ui/parts.tsx';
import type { Column } from '../ui/table-frame.tsx';

const COLUMNS: readonly Column<Attribute>[] = [
  { id: 'name', header: 'Name', value: ({ name }) => name, cell: ({ name }) => name },
  { id: 'key', header: 'Key', value: ({ key }) => key, cell: ({ key }) => <Code>{key}</Code> },
  { id: 'type', header: 'Of', value: ({ type }) => type, cell: ({ type }) => type },
];
const FIELDS: readonly Field<New<'/v1/attributes'>>[] = [
  { name: 'name', label: 'Name', kind: 'text', required: true },
  { name: 'key', label: 'Key', kind: 'text', required: true, fixed: true },
  {
    name: 'type',
    label: 'Of',
    kind: 'choice',
    options: named(['user', 'event']),
    initial: 'user',
    required: true,
    fixed: true,
  },
];

export const Attributes = () => (
  <Screen
    title="Attributes"
    about="What is known of users and events. Conditions, boosts and the groups of leaderboards go by them."
  >
    <ResourceList
      noun="attribute"
      nameOf={({ name }) => name}
      query={attributesQuery}
      columns={COLUMNS}
      fields={FIELDS}
      create={(item) => admin.POST('/v1/attributes', { body: [item] })}
      update={(item) => admin.PATCH('/v1/attributes', { body: [item as Changed<'/v1/attributes'>] })}
      remove={(id) => admin.DELETE('/v1/attributes', { params: { query: { ids: [id] } } })}
      empty={
        <Empty
          title="No attribute yet"
          curl={curl('POST', '/v1/attributes', [{ key: 'plan', name: 'Plan', type: 'user' }])}
        >
          Create the first one here, or:
        </Empty>
      }
    />
  </Screen>
);
