import { useQuery } from '@tanstack/react-query';
import { useId, type ComponentProps } from 'react';
import { answer } from '../api/answer.ts';
import { admin } from '../api/client.ts';
import { TextInput } from './fields.tsx';

const STALE_MS = 60_000;

type AttributeValueInputProps = ComponentProps<typeof TextInput> & { attributeId: string };

/** An input for a value of an attribute, which suggests frequent values. */
export function AttributeValueInput({ attributeId, ...input }: AttributeValueInputProps) {
  const list = useId();
  const values = useQuery({
    queryKey: ['attribute-values', attributeId],
    queryFn: () =>
      answer(admin.GET('/v1/attributes/{id}/values', { params: { path: { id: attributeId }, query: { limit: 50 } } })),
    staleTime: STALE_MS,
    enabled: attributeId !== '',
  });
  return (
    <>
      <TextInput {...input} list={list} autoComplete="off" />
      <datalist id={list}>
        {values.data?.map(({ value }) => (
          <option key={value}>{value}</option>
        ))}
      </datalist>
    </>
  );
}
