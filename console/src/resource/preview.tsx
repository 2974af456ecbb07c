import { useQuery } from '@tanstack/react-query';
import { useSettled } from '../api/use-settled.ts';
import type { Values } from './field.ts';

/** The effect of a resource, as a sentence. */
export type Preview = (sent: Values) => Promise<string>;

/** Previews the values, once they have not changed for a moment. */
export function usePreview(preview: Preview | undefined, sent: Values) {
  const asked = JSON.stringify(sent);
  const settled = useSettled(asked);
  return useQuery({
    queryKey: ['preview', settled],
    queryFn: () => preview!(JSON.parse(settled) as Values),
    enabled: preview !== undefined,
  });
}

/** The preview sentence. */
export const Previewed = ({ text, isOpen }: { text: string | undefined; isOpen: boolean }) => (
  <output className="rounded-md border border-line bg-hover px-3 py-2">
    {text === undefined
      ? 'Counting …'
      : text || `${isOpen ? 'Complete the rule' : 'Correct the rule'} to see how many users would hold it.`}
  </output>
);
