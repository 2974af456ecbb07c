/** Gives the browser a file to download. */
export function saveFile(name: string, content: string, type = 'application/x-ndjson'): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
